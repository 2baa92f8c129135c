// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sql/cursor.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "sonde/trace.h"

namespace sonde::sql {
namespace {

constexpr std::size_t kIdField = 0;

bool is_natural_order(const Plan& plan) {
  return plan.order.empty() ||
         (plan.order.front().field == kIdField && !plan.order.front().descending);
}

// The first row from which on it is true; `to` if there is none.
template <typename IsTrue>
std::size_t first_row(std::size_t from, std::size_t to, const IsTrue& is_true) {
  while (from < to) {
    const std::size_t middle = from + (to - from) / 2;
    if (is_true(middle)) {
      to = middle;
    } else {
      from = middle + 1;
    }
  }
  return from;
}

std::size_t bounded_row(std::int64_t row, std::size_t rows) {
  if (row <= 0) return 0;
  return std::min(static_cast<std::size_t>(row), rows);
}

}  // namespace

std::int64_t Cursor::id() const {
  const Part& at = part();
  return at.fields[kIdField].raw(row_) + at.base_of(at.fields[kIdField], row_);
}

void Cursor::start(const Plan& plan, sqlite3_value** values) {
  parts_ = &table_.parts();
  if (plan_ != &plan) filters_by_part_.clear();
  plan_ = &plan;
  filters_by_part_.resize(parts_->size());
  operands_.clear();
  for (std::size_t i = 0; i < plan.conditions.size(); ++i) {
    const Condition& condition = plan.conditions[i];
    operands_.push_back(
        operand_of(table_.fields()[condition.field], condition.comparison, values[i]));
  }
  is_sorted_ = false;
  part_ = 0;
  at_end_ = !enter_part();
  if (!at_end_) find_next();
  if (!at_end_ && !is_natural_order(plan)) sort_rows(plan);
}

void Cursor::sort_rows(const Plan& plan) {
  sorted_.clear();
  for (; !at_end_; find_next())
    sorted_.push_back({static_cast<std::uint32_t>(part_), static_cast<std::uint32_t>(row_)});
  put_in_order(*parts_, plan.order, sorted_);
  is_sorted_ = true;
  next_sorted_ = 0;
  at_end_ = false;
  next();
}

void Cursor::next() {
  if (!is_sorted_) return find_next();
  at_end_ = next_sorted_ == sorted_.size();
  if (at_end_) return;
  part_ = sorted_[next_sorted_].part;
  row_ = sorted_[next_sorted_].row;
  ++next_sorted_;
}

void Cursor::find_next() {
  while (!find_in_part()) {
    ++part_;
    if (!enter_part()) {
      at_end_ = true;
      return;
    }
  }
}

// Skips parts in which no row can pass; false after the last.
bool Cursor::enter_part() {
  for (; part_ < parts_->size(); ++part_) {
    Part& part = (*parts_)[part_];
    if (part.rows == 0) continue;
    std::vector<Filter>& filters = filters_by_part_[part_];
    if (filters.empty())
      for (const Condition& condition : plan_->conditions) filters.emplace_back(condition, part);
    for (std::size_t i = 0; i < filters.size(); ++i) filters[i].set(operands_[i]);
    filters_ = filters;
    if (std::any_of(filters_.begin(), filters_.end(), std::mem_fn(&Filter::is_never))) continue;
    choose_way(part);
    return true;
  }
  return false;
}

void Cursor::choose_way(Part& part) {
  stretches_.clear();
  stretch_ = 0;
  driver_ = nullptr;
  is_lookup_ = false;
  std::size_t from = 0;
  std::size_t to = part.rows;
  std::optional<Times> times;
  for (const Filter& filter : filters_) {
    if (!filter.has_range()) continue;
    if (filter.field() == kIdField) {
      from = std::max(from, bounded_row(filter.low(), part.rows));
      to = filter.high() < 0 ? 0 : std::min(to, bounded_row(filter.high(), part.rows - 1) + 1);
    } else if (filter.is_start_of_spans()) {
      const Times before = times.value_or(Times{filter.low(), filter.high()});
      times = {std::max(before.first, filter.low()), std::min(before.second, filter.high())};
    } else if (part.fields[filter.field()].reader->find != nullptr) {
      if (driver_ == nullptr || filter.sharpness() > driver_->sharpness()) driver_ = &filter;
    }
  }
  const bool is_whole = from == 0 && to == part.rows;
  if (is_whole && driver_ != nullptr && driver_->has_value() &&
      part.lookups[driver_->field()].is_worth_it(part.rows)) {
    is_lookup_ = true;
    found_ = part.lookups[driver_->field()].rows_with(part.fields[driver_->field()], part.rows,
                                                      driver_->low());
    next_found_ = 0;
    return;
  }
  if (is_whole && times) {
    add_stretches_of_times(part, *times);
  } else if (from < to) {
    stretches_.emplace_back(from, to);
  }
  next_row_ = stretches_.empty() ? 0 : stretches_.front().first;
}

void Cursor::add_stretches_of_times(const Part& part, Times times) {
  const Trace& trace = part.source->trace;
  const Column<Nanos>& start = trace.spans().start_ns;
  const auto add = [&](TrackId track) {
    const IdRange<SpanId> spans = trace.track_spans(track);
    if (spans.empty()) return;
    const std::size_t first = spans[0].index();
    const std::size_t end = first + spans.size();
    const std::size_t from =
        first_row(first, end, [&](std::size_t row) { return start[row] >= times.first; });
    const std::size_t to =
        first_row(from, end, [&](std::size_t row) { return start[row] > times.second; });
    if (from < to) stretches_.emplace_back(from, to);
  };
  for (std::size_t track = 0; track < trace.tracks().size(); ++track) add(TrackId(track));
  add(TrackId());
  std::sort(stretches_.begin(), stretches_.end());
}

bool Cursor::passes(std::size_t row) const {
  return std::all_of(filters_.begin(), filters_.end(),
                     [row](const Filter& filter) { return filter.passes(row); });
}

bool Cursor::find_in_part() {
  if (is_lookup_) {
    while (next_found_ < found_.size()) {
      row_ = found_[next_found_++];
      if (passes(row_)) return true;
    }
    return false;
  }
  const Part& part = (*parts_)[part_];
  while (stretch_ < stretches_.size()) {
    const std::size_t to = stretches_[stretch_].second;
    while (next_row_ < to) {
      if (driver_ != nullptr) {
        const Field& field = part.fields[driver_->field()];
        next_row_ =
            field.reader->find(field.source, next_row_, to, driver_->low(), driver_->high());
        if (next_row_ == to) break;
      }
      row_ = next_row_++;
      if (filters_.empty() || passes(row_)) return true;
    }
    if (++stretch_ < stretches_.size()) next_row_ = stretches_[stretch_].first;
  }
  return false;
}

}  // namespace sonde::sql
