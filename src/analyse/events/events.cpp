// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/events.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analyse/events/event_data.h"
#include "analyse/events/stacks.h"
#include "analyse/flags.h"
#include "analyse/operators/shapes.h"
#include "trace/known_names.h"

namespace sonde {
namespace detail {
namespace {

// The kind of device that the trace describes, if there is only one.
std::optional<DeviceType> described_device(const DeviceTable& devices) {
  std::optional<DeviceType> found;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!devices.name[i].valid() || devices.type[i] == DeviceType::Unknown) continue;
    if (found && *found != devices.type[i]) return std::nullopt;
    found = devices.type[i];
  }
  return found;
}

std::string find_device(const EventData& data) {
  DeviceType type = DeviceType::Cpu;
  const bool intel =
      data.has_kind([](SpanKind kind) { return device_called(kind) == DeviceType::Xpu; });
  if (intel) return "xpu";
  const std::size_t searched = data.has_kind(is_on_device) ? data.size() : 0;
  for (std::size_t event = 0; event < searched && type == DeviceType::Cpu; ++event) {
    if (data.has(event, kEventDevice)) type = device_of(data.kind(event));
  }
  // Work of other devices has the same kinds as CUDA's. The trace says which device it is.
  if (type == DeviceType::Cuda) type = described_device(data.trace.devices()).value_or(type);
  if (type == DeviceType::Cpu) {
    const DeviceTable& devices = data.trace.devices();
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (devices.name[i].valid() && devices.type[i] != DeviceType::Unknown) type = devices.type[i];
    }
  }
  return type == DeviceType::Cpu ? std::string() : std::string(to_string(type));
}

// When the first window opened; without windows, the time of the first event.
Nanos recording_start(const Trace& trace) {
  const WindowTable& windows = trace.windows();
  Nanos start = !windows.empty() ? windows.start_ns[0] : trace.first_ns();
  for (std::size_t i = 0; i < windows.size(); ++i) start = std::min(start, windows.start_ns[i]);
  return start;
}

}  // namespace

void ChildSums::close(std::size_t events) {
  marks_.assign(events / 64 + 1, Marks());
  for (std::size_t i = 0; i < events_.size(); ++i)
    marks_[events_[i] / 64].bits |= std::uint64_t{1} << events_[i] % 64;
  std::uint32_t before = 0;
  for (Marks& marks : marks_) {
    marks.before = before;
    before += static_cast<std::uint32_t>(std::popcount(marks.bits));
  }
  if (!are_in_order_) {
    const auto order = [this](auto& sums) {
      BigVector<std::decay_t<decltype(sums[0])>> ordered(sums.size());
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const Marks& marks = marks_[events_[i] / 64];
        const std::uint64_t earlier = marks.bits & ((std::uint64_t{1} << events_[i] % 64) - 1);
        ordered[marks.before + static_cast<std::size_t>(std::popcount(earlier))] = sums[i];
      }
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = ordered[i];
    };
    order(cpu_us_);
    order(cpu_bytes_);
  }
  events_ = {};
}

std::string_view EventData::name_text(NameNumber number) const noexcept {
  if (number < trace.strings().size()) return trace.string(StringId(number));
  if (number == made_up(MadeUpName::ProfilerStep)) return kAllSteps;
  if (number == made_up(MadeUpName::Memory)) return "[memory]";
  if (number == made_up(MadeUpName::OutOfMemory)) return "[OutOfMemory]";
  return {};
}

DeviceType EventData::device_type(std::size_t event) const noexcept {
  const DeviceType type = device_of(kind(event));
  return type == DeviceType::Cuda ? parse_device_type(use_device).value_or(type) : type;
}

double EventData::self_device_us(std::size_t event) const noexcept {
  if (has(event, kEventDevice)) return duration_us(event);
  return has(event, kEventAsync) ? 0.0 : device_total_us[event] - children_device_us[event];
}

RecordScope EventData::scope(std::size_t event) const noexcept {
  if (!is_span(event) || has(event, kEventDevice)) return RecordScope::Function;
  if (is_backward(event)) return RecordScope::BackwardFunction;
  if (has(event, kEventAnnotation)) return RecordScope::UserScope;
  const RecordScope recorded = trace.spans().scope[SpanId(row[event])];
  return recorded == RecordScope::None ? RecordScope::Function : recorded;
}

std::uint64_t EventData::flops_of(std::size_t event) const noexcept {
  return with_flops && is_span(event) ? flops(trace, SpanId(row[event])) : 0;
}

}  // namespace detail

EventList function_events(const Trace& trace) {
  auto data = std::make_shared<detail::EventData>(trace);
  data->start_ns = detail::recording_start(trace);
  data->with_stack = detail::has_flag(trace, "with_stack");
  data->with_flops = detail::has_flag(trace, "with_flops");
  data->profile_memory = detail::has_flag(trace, "profile_memory") || !trace.allocations().empty();
  detail::collect_events(*data);
  data->use_device = detail::find_device(*data);
  detail::link_device_work(*data);
  detail::place_what_has_no_thread(*data);
  detail::build_tree(*data);
  detail::number_threads(*data);
  if (data->with_flops) data->flops = detail::FlopsOfCalls(trace);
  EventList list;
  list.data_ = std::move(data);
  return list;
}

EventList::EventList() : data_(std::make_shared<const detail::EventData>()) {}

std::size_t EventList::size() const noexcept {
  return data_->size();
}
const Trace& EventList::trace() const& noexcept {
  return data_->trace;
}
Nanos EventList::start_ns() const noexcept {
  return data_->start_ns;
}
std::string_view EventList::use_device() const& noexcept {
  return data_->use_device;
}
bool EventList::with_stack() const noexcept {
  return data_->with_stack;
}
bool EventList::profile_memory() const noexcept {
  return data_->profile_memory;
}
bool EventList::with_flops() const noexcept {
  return data_->with_flops;
}

double EventList::self_cpu_time_total_us() const noexcept {
  double total = 0;
  for (std::size_t event = 0; event < size(); ++event) total += data_->self_cpu_us(event);
  return total;
}

Result<StackMetric> parse_stack_metric(std::string_view name) {
  if (name == "self_cpu_time_total") return StackMetric::SelfCpuTime;
  for (const std::string_view device : {"self_device_time_total", "self_cuda_time_total",
                                        "self_xpu_time_total", "self_privateuse1_time_total"}) {
    if (name == device) return StackMetric::SelfDeviceTime;
  }
  return Failure(ErrorCode::Invalid, "no metric '" + std::string(name) +
                                         "': it must be one of self_cpu_time_total, "
                                         "self_device_time_total, self_cuda_time_total, "
                                         "self_xpu_time_total, self_privateuse1_time_total");
}

std::string EventList::collapsed_stacks(StackMetric metric, StackLines lines) const {
  return detail::collapsed_stacks(*data_, metric == StackMetric::SelfDeviceTime,
                                  lines == StackLines::EachEvent);
}

std::int64_t FunctionEvent::id() const noexcept {
  const SpanId span = data_->span(index_);
  if (!span.valid()) return 0;
  const SpanTable& spans = data_->trace.spans();
  const SpanKind kind = spans.kind[span];
  if (is_pytorch_operator(kind) || kind == SpanKind::GpuUserAnnotation) {
    return spans.external_id[span];
  }
  if (spans.correlation[span] != 0) return spans.correlation[span];
  for (std::uint32_t at = data_->parent[index_]; at != detail::kNoEvent; at = data_->parent[at]) {
    if (is_pytorch_operator(data_->kind(at))) return FunctionEvent(data_, at).id();
  }
  return 0;
}

std::string_view FunctionEvent::name() const noexcept {
  return data_->name_text(data_->name[index_]);
}
std::string_view FunctionEvent::overload_name() const noexcept {
  const SpanId span = data_->span(index_);
  return span.valid() ? data_->trace.string(data_->trace.spans().overload_name[span])
                      : std::string_view();
}
SpanId FunctionEvent::span() const noexcept {
  return data_->span(index_);
}
Nanos FunctionEvent::start_ns() const noexcept {
  return data_->begin_ns(index_) - data_->start_ns;
}
Nanos FunctionEvent::end_ns() const noexcept {
  return data_->end_ns(index_) - data_->start_ns;
}

std::int64_t FunctionEvent::thread() const noexcept {
  const std::uint32_t track = data_->thread[index_];
  return track < data_->logical_thread.size() ? data_->logical_thread[track] : 0;
}
std::int64_t FunctionEvent::forward_thread() const noexcept {
  const SpanId span = data_->span(index_);
  if (!span.valid() || sequence_number() < 0) return 0;
  return data_->trace.spans().forward_thread[span];
}
std::int64_t FunctionEvent::sequence_number() const noexcept {
  const SpanId span = data_->span(index_);
  return span.valid() ? data_->trace.spans().sequence_number[span] : -1;
}
RecordScope FunctionEvent::scope() const noexcept {
  return data_->scope(index_);
}
DeviceType FunctionEvent::device_type() const noexcept {
  return data_->device_type(index_);
}
std::int32_t FunctionEvent::device_index() const noexcept {
  if (!data_->has(index_, detail::kEventDevice)) return -1;
  const TrackId track = data_->trace.spans().track[SpanId(data_->row[index_])];
  return track.valid() ? data_->trace.tracks().device_index[track] : -1;
}
bool FunctionEvent::is_async() const noexcept {
  return data_->has(index_, detail::kEventAsync);
}
bool FunctionEvent::is_user_annotation() const noexcept {
  return data_->has(index_, detail::kEventAnnotation);
}

bool FunctionEvent::has_parent() const noexcept {
  return data_->parent[index_] != detail::kNoEvent;
}
std::vector<FunctionEvent> FunctionEvent::children() const {
  std::vector<FunctionEvent> found;
  // They begin after it, and before it ends.
  for (std::size_t i = index_ + 1; i < data_->size() && data_->begin_ns(i) <= data_->end_ns(index_);
       ++i) {
    if (data_->parent[i] == index_) found.push_back({data_, i});
  }
  return found;
}
FunctionEvent FunctionEvent::parent() const noexcept {
  return {data_, data_->parent[index_]};
}

double FunctionEvent::cpu_total_us() const noexcept {
  return data_->cpu_total_us(index_);
}
double FunctionEvent::self_cpu_us() const noexcept {
  return data_->self_cpu_us(index_);
}
double FunctionEvent::device_total_us() const noexcept {
  return data_->device_total_us[index_];
}
double FunctionEvent::self_device_us() const noexcept {
  return data_->self_device_us(index_);
}
std::int64_t FunctionEvent::cpu_memory_bytes() const noexcept {
  return data_->cpu_bytes.empty() ? 0 : data_->cpu_bytes[index_];
}
std::int64_t FunctionEvent::self_cpu_memory_bytes() const noexcept {
  if (data_->cpu_bytes.empty() || !data_->nests(index_)) return 0;
  return data_->cpu_bytes[index_] - data_->children[index_].cpu_bytes;
}
std::int64_t FunctionEvent::device_memory_bytes() const noexcept {
  return data_->cpu_bytes.empty() ? 0 : data_->device_bytes[index_];
}
std::int64_t FunctionEvent::self_device_memory_bytes() const noexcept {
  if (data_->cpu_bytes.empty() || !data_->nests(index_)) return 0;
  return data_->device_bytes[index_] - data_->children_device_bytes[index_];
}
std::uint64_t FunctionEvent::flops() const noexcept {
  return data_->flops_of(index_);
}

std::size_t FunctionEvent::kernel_count() const noexcept {
  return data_->kernels_count[index_];
}
FunctionEvent FunctionEvent::kernel(std::size_t i) const noexcept {
  return {data_, data_->kernels[data_->kernels_first[index_] + i]};
}

std::string FunctionEvent::arguments() const {
  return data_->arguments(index_);
}

std::string FunctionEvent::input_shapes() const {
  const SpanId span = data_->span(index_);
  return detail::shapes_text(
      data_->trace, span.valid() ? data_->trace.spans().arguments[span] : ArgumentListId());
}
std::vector<std::string> FunctionEvent::stack() const {
  return data_->stack(index_);
}

}  // namespace sonde
