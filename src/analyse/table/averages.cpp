// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/averages.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyse/events/event_blocks.h"
#include "analyse/operators/shapes.h"
#include "analyse/table/averages_data.h"
#include "analyse/table/text.h"
#include "sonde/analyse/events.h"
#include "trace/recent_rows.h"

namespace sonde {
namespace detail {
namespace {

// What the columns of an event say.
struct EventFigures {
  EventFlag flags;
  double duration_us;
  std::int64_t cpu_bytes;
};

void add_figures(EventAverage& row, const EventData& data, std::size_t event,
                 const EventFigures& figures, bool has_device_work) {
  ++row.count;
  const bool is_host = (figures.flags & kEventDevice) == 0;
  const bool nests = (figures.flags & (kEventDevice | kEventAsync)) == 0;
  const ChildSums::Sums children = data.children[event];
  const double duration_us = is_host ? figures.duration_us : 0.0;
  row.cpu_total_us += duration_us;
  row.self_cpu_us += nests ? duration_us - children.cpu_us : 0.0;
  if (has_device_work) {
    row.device_total_us += data.device_total_us[event];
    row.self_device_us += data.self_device_us(event);
  }
  if (data.with_flops) row.flops += data.flops_of(event);
  if (data.cpu_bytes.empty()) return;
  row.cpu_memory_bytes += figures.cpu_bytes;
  row.device_memory_bytes += data.device_bytes[event];
  if (!nests) return;
  row.self_cpu_memory_bytes += figures.cpu_bytes - children.cpu_bytes;
  row.self_device_memory_bytes += data.device_bytes[event] - data.children_device_bytes[event];
}

void add_figures(EventAverage& row, const EventData& data, std::size_t event) {
  const EventFigures figures = {data.flags[event], data.duration_us(event),
                                data.cpu_bytes.empty() ? 0 : data.cpu_bytes[event]};
  add_figures(row, data, event, figures, true);
}

ArgumentListId arguments_of(const EventData& data, std::size_t event) {
  const SpanId span = data.span(event);
  return span.valid() ? data.trace.spans().arguments[span] : ArgumentListId();
}

StringId overload_of(const EventData& data, std::size_t event) {
  const SpanId span = data.span(event);
  return span.valid() ? data.trace.spans().overload_name[span] : StringId();
}

std::vector<std::string> cut_stack(const EventData& data, std::size_t event, int frames) {
  return data.stack(event, static_cast<std::size_t>(frames));
}

// What a row takes from its first event.
EventAverage described(const EventData& data, std::size_t event, const GroupBy& by) {
  EventAverage row;
  row.key = data.name_text(data.name[event]);
  row.device_type = data.device_type(event);
  row.scope = data.scope(event);
  row.is_async = data.has(event, kEventAsync);
  row.is_user_annotation = data.has(event, kEventAnnotation);
  row.has_parent = data.parent[event] != kNoEvent;
  if (by.group_by_input_shape)
    row.input_shapes = shapes_text(data.trace, arguments_of(data, event));
  if (by.group_by_stack_n > 0) row.stack = cut_stack(data, event, by.group_by_stack_n);
  if (by.group_by_overload_name) row.overload_name = data.trace.string(overload_of(data, event));
  return row;
}

// Distinct texts and their numbers.
class Texts {
 public:
  std::uint32_t number(const std::string& text) {
    return numbers_.try_emplace(text, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

struct Key {
  NameNumber name;
  std::uint32_t kind;  // device and annotation
  std::uint32_t shapes;
  std::uint32_t stack;
  std::uint32_t overload;

  friend bool operator==(const Key& a, const Key& b) = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const noexcept {
    std::uint64_t mixed = key.name;
    for (const std::uint32_t part : {key.kind, key.shapes, key.stack, key.overload}) {
      mixed = (mixed ^ part) * 0x9e3779b97f4a7c15;
      mixed ^= mixed >> 29;
    }
    return static_cast<std::size_t>(mixed);
  }
};

class Grouping {
 public:
  Grouping(const EventData& data, const GroupBy& group_by) : data_(data), group_by_(group_by) {
    // One for each string, each made-up name, and one for events without a name.
    last_of_name_.assign(data.trace.strings().size() + 4, kNoEvent);
    if (group_by.group_by_input_shape) {
      shapes_of_list_.assign(data.trace.argument_lists().size() + 1, kNoEvent);
    }
  }

  // Finds the rows before it fills them, because filled rows are large.
  void run(std::vector<EventAverage>& rows, Column<std::uint32_t>& row_of_event) {
    row_of_event.pack();
    std::vector<std::uint32_t> first_events;
    NewRows<std::uint32_t> found(row_of_event);
    visit_blocks(data_, [&](const EventBlock& block) {
      for (std::size_t i = 0; i < block.count; ++i) {
        const std::size_t event = block.first + i;
        const Key key = key_of(event, block.name[i], block.flags[i]);
        std::uint32_t& last =
            last_of_name_[std::min<std::size_t>(key.name, last_of_name_.size() - 1)];
        if (last == kNoEvent || !(keys_[last] == key)) last = row_of(key);
        if (last == first_events.size()) first_events.push_back(static_cast<std::uint32_t>(event));
        found.push_back(last);
      }
    });
    found.finish();
    forget_keys();
    rows.reserve(first_events.size());
    for (const std::uint32_t event : first_events)
      rows.push_back(described(data_, event, group_by_));
    const bool has_device_work = data_.has_kind(is_on_device);
    std::array<std::uint32_t, kEventsAtOnce> row{};
    visit_blocks(data_, [&](const EventBlock& block) {
      row_of_event.read(block.first, block.count, row.data());
      for (std::size_t i = 0; i < block.count; ++i)
        add_figures(rows[row[i]], data_, block.first + i,
                    {block.flags[i], block.duration_us[i], block.cpu_bytes[i]}, has_device_work);
    });
  }

 private:
  // The row of a key; the next one if the key is new.
  std::uint32_t row_of(const Key& key) {
    if (2 * (keys_.size() + 1) > slots_.size()) grow_slots();
    std::uint32_t& slot = slots_[slot_of(key)];
    if (slot == kNoRow) {
      slot = static_cast<std::uint32_t>(keys_.size());
      keys_.push_back(key);
    }
    return slot;
  }

  std::size_t slot_of(const Key& key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = KeyHash()(key) & mask;
    while (slots_[slot] != kNoRow && !(keys_[slots_[slot]] == key)) slot = (slot + 1) & mask;
    return slot;
  }

  void grow_slots() {
    slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), kNoRow);
    for (std::size_t row = 0; row < keys_.size(); ++row)
      slots_[slot_of(keys_[row])] = static_cast<std::uint32_t>(row);
  }

  void forget_keys() {
    keys_ = {};
    slots_ = {};
    last_of_name_ = {};
  }

  Key key_of(std::size_t event, NameNumber name, EventFlag flags) {
    Key key{name, 0, 0, 0, 0};
    const DeviceType device =
        (flags & kEventDevice) != 0 ? data_.device_type(event) : DeviceType::Cpu;
    key.kind = static_cast<std::uint32_t>(device) * 2 + ((flags & kEventAnnotation) != 0 ? 1 : 0);
    if (group_by_.group_by_input_shape) key.shapes = shapes_of(event);
    if (group_by_.group_by_stack_n > 0) key.stack = stack_number(event);
    if (group_by_.group_by_overload_name) key.overload = overload_of(data_, event).value();
    return key;
  }

  // Different lists may have the same shapes.
  std::uint32_t shapes_of(std::size_t event) {
    const ArgumentListId list = arguments_of(data_, event);
    std::uint32_t& known =
        shapes_of_list_[list.valid() ? list.index() : shapes_of_list_.size() - 1];
    if (known == kNoEvent) known = texts_.number(shapes_text(data_.trace, list));
    return known;
  }

  std::uint32_t stack_number(std::size_t event) {
    std::string joined;
    for (const std::string& frame : cut_stack(data_, event, group_by_.group_by_stack_n))
      joined += frame + '\n';
    return texts_.number(joined);
  }

  const EventData& data_;
  const GroupBy& group_by_;
  static constexpr std::uint32_t kNoRow = 0xffffffff;
  static constexpr std::size_t kFirstSlots = 64;

  std::vector<Key> keys_;                    // of each row
  std::vector<std::uint32_t> slots_;         // open addressing; a power of two; rows or kNoRow
  std::vector<std::uint32_t> last_of_name_;  // by name: the row of its last event
  std::vector<std::uint32_t> shapes_of_list_;
  Texts texts_;
};

}  // namespace
}  // namespace detail

KeyAverages EventList::key_averages(const GroupBy& group_by) const {
  auto data = std::make_shared<KeyAverages::Data>();
  data->events = data_;
  detail::Grouping(*data_, group_by).run(data->rows, data->row_of_event);
  KeyAverages averages;
  averages.data_ = std::move(data);
  return averages;
}

// As in PyTorch, descriptions come from the last event.
EventAverage EventList::total_average() const {
  EventAverage total;
  for (std::size_t event = 0; event < size(); ++event) detail::add_figures(total, *data_, event);
  if (!empty()) {
    const FunctionEvent last = (*this)[size() - 1];
    total.device_type = last.device_type();
    total.scope = last.scope();
    total.is_async = last.is_async();
    total.is_user_annotation = last.is_user_annotation();
    total.has_parent = last.has_parent();
  }
  total.key = "Total";
  return total;
}

Result<std::string> EventList::table(const TableOptions& options) const {
  SONDE_TRY_VOID(detail::check_table_options(options));
  const GroupBy all{true, std::numeric_limits<int>::max(), true};
  std::vector<EventAverage> rows;
  rows.reserve(size());
  Column<std::uint32_t> row_of_event;
  row_of_event.pack();
  for (std::size_t event = 0; event < size(); ++event) {
    row_of_event.push_back(static_cast<std::uint32_t>(event));
    rows.push_back(detail::described(*data_, event, all));
    detail::add_figures(rows.back(), *data_, event);
    if (rows.back().is_user_annotation) rows.back().arguments = data_->arguments(event);
  }
  std::vector<ExtraFigures> extra;
  if (detail::needs_extra_figures(options)) {
    extra = detail::extra_figures(*data_, rows.size(), row_of_event);
  }
  return detail::table_text(rows, extra, detail::table_facts(*data_), options);
}

Result<std::string> table_of(const std::vector<EventAverage>& rows, const TableFacts& facts,
                             const TableOptions& options) {
  SONDE_TRY_VOID(detail::check_table_options(options));
  if (detail::needs_extra_figures(options)) {
    return Failure(ErrorCode::Invalid,
                   "these columns need the events behind the rows: ask a list of a trace or a "
                   "profiler");
  }
  if (rows.empty()) return std::string();
  return detail::table_text(rows, {}, facts, options);
}

KeyAverages::KeyAverages() : data_(std::make_shared<const Data>()) {}

std::size_t KeyAverages::size() const noexcept {
  return data_->rows.size();
}
const EventAverage& KeyAverages::operator[](std::size_t row) const& noexcept {
  return data_->rows[row];
}
const EventAverage* KeyAverages::begin() const& noexcept {
  return data_->rows.data();
}
const EventAverage* KeyAverages::end() const& noexcept {
  return data_->rows.data() + data_->rows.size();
}

std::vector<ExtraFigures> KeyAverages::extra_figures() const {
  if (empty()) return {};
  return detail::extra_figures(*data_->events, size(), data_->row_of_event);
}

Result<std::string> KeyAverages::table(const TableOptions& options) const {
  SONDE_TRY_VOID(detail::check_table_options(options));
  if (empty()) return std::string();
  return detail::table_text(
      data_->rows,
      detail::needs_extra_figures(options) ? extra_figures() : std::vector<ExtraFigures>(),
      detail::table_facts(*data_->events), options);
}

Result<std::vector<std::size_t>> KeyAverages::rows(const TableOptions& options) const {
  SONDE_TRY_VOID(detail::check_table_options(options));
  return detail::table_rows(
      data_->rows,
      detail::needs_extra_figures(options) ? extra_figures() : std::vector<ExtraFigures>(),
      options);
}

}  // namespace sonde
