// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Figures that PyTorch does not have. docs/metrics.md defines them.

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyse/table/averages_data.h"

namespace sonde::detail {
namespace {

// Device work by row. For device events that is the events themselves; for host events it is what
// they or events inside them launched. Each counts once. Annotations are not work.
//
// Nested calls share what the inner ones launched. It is kept in one list in which each call has a
// part, so memory does not grow with the depth.
class WorkOfRows {
 public:
  WorkOfRows(const EventData& data, const Column<std::uint32_t>& row_of_event, std::size_t rows)
      : data_(data), row_of_event_(row_of_event), open_(rows) {
    sort_work();
    link_children();
    for (std::uint32_t event = 0; event < data.size(); ++event) {
      if (data.parent[event] == kNoEvent) visit(event);
    }
    for (const std::uint32_t event : work_) add_itself(event);
    std::stable_sort(parts_.begin(), parts_.end(),
                     [](const Part& a, const Part& b) { return a.row < b.row; });
  }

  void add_figures(std::vector<ExtraFigures>& figures) const {
    std::vector<bool> is_here(work_.size());  // of the current row
    for (auto first = parts_.begin(); first != parts_.end();) {
      const auto last = std::find_if(first, parts_.end(),
                                     [first](const Part& part) { return part.row != first->row; });
      add_row(first, last, is_here, figures[first->row]);
      first = last;
    }
  }

 private:
  // The part of `launched_` that belongs to a row.
  struct Part {
    std::uint32_t row;
    std::size_t begin;
    std::size_t end;
  };
  using Parts = std::vector<Part>::const_iterator;

  void sort_work() {
    for (std::uint32_t event = 0; event < data_.size(); ++event) {
      if (data_.has(event, kEventDevice)) work_.push_back(event);
    }
    std::stable_sort(work_.begin(), work_.end(), [this](std::uint32_t a, std::uint32_t b) {
      return data_.begin_ns(a) < data_.begin_ns(b);
    });
    place_.resize(data_.size());
    for (std::uint32_t i = 0; i < work_.size(); ++i) place_[work_[i]] = i;
  }

  void link_children() {
    first_child_.assign(data_.size(), kNoEvent);
    next_.assign(data_.size(), kNoEvent);
    for (auto event = static_cast<std::uint32_t>(data_.size()); event-- > 0;) {
      const std::uint32_t parent = data_.parent[event];
      if (parent == kNoEvent) continue;
      next_[event] = first_child_[parent];
      first_child_[parent] = event;
    }
  }

  struct Visit {
    std::uint32_t event;
    std::uint32_t child;  // the next child
    std::size_t begin;    // of its part
  };

  // Visits an event and everything inside it. Not recursive, because nesting may be deep.
  void visit(std::uint32_t root) {
    path_.clear();
    enter(root);
    while (!path_.empty()) {
      const std::uint32_t child = path_.back().child;
      if (child == kNoEvent) {
        leave();
      } else {
        path_.back().child = next_[child];
        enter(child);
      }
    }
  }
  void enter(std::uint32_t event) {
    path_.push_back({event, first_child_[event], launched_.size()});
    ++open_[row_of_event_[event]];
    for (std::uint32_t i = 0; i < data_.kernels_count[event]; ++i)
      launched_.push_back(place_[data_.kernels[data_.kernels_first[event] + i]]);
  }
  // A call inside another call of the same row adds nothing to the row.
  void leave() {
    const Visit& done = path_.back();
    const std::uint32_t row = row_of_event_[done.event];
    if (--open_[row] == 0 && done.begin < launched_.size())
      parts_.push_back({row, done.begin, launched_.size()});
    path_.pop_back();
  }

  void add_itself(std::uint32_t event) {
    if (data_.has(event, kEventAnnotation)) return;
    parts_.push_back({row_of_event_[event], launched_.size(), launched_.size() + 1});
    launched_.push_back(place_[event]);
  }

  void add_row(Parts first, Parts last, std::vector<bool>& is_here, ExtraFigures& of_row) const {
    std::size_t from = work_.size();
    std::size_t to = 0;
    for (auto part = first; part != last; ++part) {
      for (std::size_t i = part->begin; i < part->end; ++i) {
        is_here[launched_[i]] = true;
        from = std::min<std::size_t>(from, launched_[i]);
        to = std::max<std::size_t>(to, launched_[i] + std::size_t{1});
      }
    }
    Nanos reached_ns = std::numeric_limits<Nanos>::min();  // the end of the time counted so far
    for (std::size_t i = from; i < to; ++i) {
      if (!is_here[i]) continue;
      is_here[i] = false;
      ++of_row.launches;
      const Nanos from_ns = std::max(data_.begin_ns(work_[i]), reached_ns);
      const Nanos end_ns = data_.end_ns(work_[i]);
      if (end_ns <= from_ns) continue;
      of_row.device_union_ns += end_ns - from_ns;
      reached_ns = end_ns;
    }
  }

  const EventData& data_;
  const Column<std::uint32_t>& row_of_event_;
  std::vector<std::uint32_t> work_;   // device events by begin
  std::vector<std::uint32_t> place_;  // of a device event in `work_`
  std::vector<std::uint32_t> first_child_;
  std::vector<std::uint32_t> next_;  // sibling
  std::vector<Visit> path_;
  std::vector<std::uint32_t> open_;      // by row: events on the current path
  std::vector<std::uint32_t> launched_;  // what a call and those inside it launched, as places
  std::vector<Part> parts_;
};

// The smallest value such that at least `part` of all values do not exceed it.
Nanos quantile(const std::vector<Nanos>& sorted, double part) {
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

void add_quantiles(std::vector<ExtraFigures>& figures, const EventData& data,
                   const Column<std::uint32_t>& row_of_event) {
  std::vector<std::vector<Nanos>> durations(figures.size());
  for (std::size_t event = 0; event < data.size(); ++event) {
    durations[row_of_event[event]].push_back(data.duration_ns(event));
  }
  for (std::size_t row = 0; row < figures.size(); ++row) {
    std::vector<Nanos>& of_row = durations[row];
    if (of_row.empty()) continue;
    std::sort(of_row.begin(), of_row.end());
    figures[row].p50_ns = quantile(of_row, 0.5);
    figures[row].p95_ns = quantile(of_row, 0.95);
    figures[row].max_ns = of_row.back();
  }
}

void add_rates(std::vector<ExtraFigures>& figures, const EventData& data,
               const Column<std::uint32_t>& row_of_event) {
  std::vector<double> flops(figures.size());
  std::vector<double> host_us(figures.size());
  for (std::size_t event = 0; event < data.size(); ++event) {
    flops[row_of_event[event]] += static_cast<double>(data.flops_of(event));
    host_us[row_of_event[event]] += data.cpu_total_us(event);
  }
  for (std::size_t row = 0; row < figures.size(); ++row) {
    const auto device_us = static_cast<double>(figures[row].device_union_ns) / 1000.0;
    const double time_us = device_us > 0 ? device_us : host_us[row];
    if (time_us > 0) figures[row].flops_per_second = flops[row] * 1e6 / time_us;
  }
}

}  // namespace

std::vector<ExtraFigures> extra_figures(const EventData& data, std::size_t rows,
                                        const Column<std::uint32_t>& row_of_event) {
  std::vector<ExtraFigures> figures(rows);
  add_quantiles(figures, data, row_of_event);
  WorkOfRows(data, row_of_event, rows).add_figures(figures);
  add_rates(figures, data, row_of_event);
  return figures;
}

}  // namespace sonde::detail
