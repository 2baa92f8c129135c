// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/timeline/curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "base/readable.h"
#include "view/page.h"

namespace sonde::detail {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kMostCounters = 200;

std::string device_name(const Trace& trace, ProcessId process, std::int32_t device) {
  for (std::size_t i = 0; i < trace.devices().size(); ++i)
    if (trace.devices().process[i] == process && trace.devices().index[i] == device &&
        trace.devices().type[i] != DeviceType::Unknown)
      return std::string(to_string(trace.devices().type[i])) + ":" + std::to_string(device);
  return "device " + std::to_string(device);
}

void add_memory(const Trace& trace, std::vector<Curve>& out) {
  const AllocationTable& table = trace.allocations();
  std::set<std::tuple<std::uint32_t, DeviceType, std::int32_t>> seen;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const TrackId track = table.track[i];
    const ProcessId process = track.valid() ? trace.tracks().process[track] : ProcessId();
    seen.emplace(process.value(), table.device_type[i], table.device_index[i]);
  }
  for (const auto& [process, type, index] : seen) {
    Curve curve;
    curve.kind = CurveKind::Memory;
    curve.memory = {type, index};
    curve.name = to_string(curve.memory) + " memory";
    curve.unit = "bytes";
    curve.process = ProcessId(process);
    for (std::size_t i = 0; i < kMemoryCategories; ++i)
      curve.series.emplace_back(to_string(static_cast<MemoryCategory>(i)));
    curve.series.emplace_back("held before");
    curve.series.emplace_back("reserved");
    out.push_back(std::move(curve));
  }
}

void add_devices(const Trace& trace, std::vector<Curve>& out) {
  std::set<std::pair<std::uint32_t, std::int32_t>> seen;
  for (std::size_t i = 0; i < trace.tracks().size(); ++i) {
    const TrackId track(i);
    if (trace.tracks().kind[track] != TrackKind::Stream || trace.track_spans(track).empty())
      continue;
    seen.emplace(trace.tracks().process[track].value(), trace.tracks().device_index[track]);
  }
  for (const auto& [process, device] : seen) {
    Curve curve;
    curve.process = ProcessId(process);
    curve.device = device;
    const std::string name = device_name(trace, curve.process, device);
    curve.kind = CurveKind::Busy;
    curve.name = name + " busy";
    curve.unit = "%";
    curve.series = {"busy"};
    out.push_back(curve);
    // Without launches it is not known what waited.
    if (!trace.spans().launch.materialised()) continue;
    curve.kind = CurveKind::Queue;
    curve.name = name + " queue";
    curve.unit = "launched, not finished";
    curve.series = {"work"};
    out.push_back(std::move(curve));
  }
}

// Whichever thread says what a counter is, it is the process's.
struct CounterOwner {
  ProcessId process;
  TrackId track;  // only of tracks that are no threads
  friend bool operator==(const CounterOwner&, const CounterOwner&) = default;
};
CounterOwner counter_owner(const Trace& trace, TrackId track) {
  if (!track.valid()) return {};
  const bool is_thread = trace.tracks().kind[track] == TrackKind::Thread;
  return {trace.tracks().process[track], is_thread ? TrackId() : track};
}

void add_counters(const Trace& trace, std::vector<Curve>& out) {
  const CounterTable& table = trace.counters();
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> seen;
  for (std::size_t i = 0; i < table.size() && seen.size() < kMostCounters; ++i) {
    const CounterOwner owner = counter_owner(trace, table.track[i]);
    const auto key = std::tuple(owner.process.value(), owner.track.value(), table.name[i].value(),
                                table.series[i].value());
    if (!seen.insert(key).second) continue;
    Curve curve;
    curve.track = owner.track;
    curve.process = owner.process;
    curve.counter = table.name[i];
    curve.counter_series = table.series[i];
    curve.name = readable_line(trace.string(table.name[i]));
    if (const std::string_view series = trace.string(table.series[i]); !series.empty())
      curve.name += " " + readable_line(series);
    curve.series = {"value"};
    out.push_back(std::move(curve));
  }
}

// Fills buckets from a step function: each bucket gets the moment whose sum is furthest from zero.
class BucketMaker {
 public:
  BucketMaker(Nanos from, Nanos to, std::uint32_t buckets, std::size_t series)
      : from_(from),
        to_(std::max(to, from + 1)),
        buckets_(buckets),
        series_(series),
        best_(buckets, -1),
        out_(buckets * series, kUnknown) {}

  // Sets the values from this time on. Times must not decrease.
  void step(Nanos at, const std::vector<double>& values) {
    hold_until(at);
    current_ = values;
    if (at >= from_ && at < to_) offer(bucket_of(at));
  }
  std::vector<float> finish(Nanos end) {
    hold_until(end);
    return std::move(out_);
  }

 private:
  std::uint32_t bucket_of(Nanos at) const {
    const double part = static_cast<double>(at - from_) / static_cast<double>(to_ - from_);
    return std::min(buckets_ - 1, static_cast<std::uint32_t>(part * buckets_));
  }
  void hold_until(Nanos at) {
    const Nanos end = std::min(at, to_);
    if (!current_.empty() && end > from_) {
      const std::uint32_t last = bucket_of(end - 1);
      for (; next_ <= last; ++next_) offer(next_);
    } else if (end > from_) {
      next_ = bucket_of(end - 1) + 1;
    }
  }
  void offer(std::uint32_t bucket) {
    double sum = 0;
    for (const double value : current_) sum += value;
    sum = std::abs(sum);
    if (sum <= best_[bucket]) return;
    best_[bucket] = sum;
    for (std::size_t i = 0; i < series_; ++i)
      out_[bucket * series_ + i] = static_cast<float>(current_[i]);
  }

  const Nanos from_;
  const Nanos to_;
  const std::uint32_t buckets_;
  const std::size_t series_;
  std::vector<double> best_;
  std::vector<float> out_;
  std::vector<double> current_;
  std::uint32_t next_ = 0;  // the first bucket that was not offered the current values
};

const DeviceMemory* memory_of(const TraceAnswers& answers, const Curve& curve) {
  for (const DeviceMemory& device : answers.memory().devices)
    if (device.device == curve.memory && device.process == curve.process) return &device;
  for (const DeviceMemory& device : answers.memory().devices)
    if (device.device == curve.memory) return &device;
  return nullptr;
}

std::vector<float> memory_values(const TraceAnswers& answers, const Curve& curve, Nanos from,
                                 Nanos to, std::uint32_t buckets) {
  BucketMaker maker(from, to, buckets, kMemoryCategories + 2);
  const DeviceMemory* device = memory_of(answers, curve);
  if (device == nullptr) return maker.finish(from);
  const AllocationTable& table = answers.trace().allocations();
  const Nanos first_ns = answers.trace().first_ns();
  std::vector<double> values(kMemoryCategories + 2);
  MemoryRun run(*device);
  while (run.next()) {
    const MemoryEvent& event = run.event();
    const MemoryBlock block = device->blocks[event.block];
    for (std::size_t i = 0; i < kMemoryCategories; ++i)
      values[i] = static_cast<double>(run.by_category()[i]);
    const AllocationId row = event.action == MemoryAction::Destroy  ? block.death
                             : event.action == MemoryAction::Create ? block.birth
                                                                    : AllocationId();
    if (row.valid() && table.total_allocated_bytes[row] >= 0)
      values[kMemoryCategories] =
          std::max<double>(0, static_cast<double>(table.total_allocated_bytes[row]) -
                                  static_cast<double>(run.live_bytes()));
    if (row.valid() && table.total_reserved_bytes[row] >= 0)
      values[kMemoryCategories + 1] = static_cast<double>(table.total_reserved_bytes[row]);
    maker.step(event.time_ns == kBeforeRecording ? 0 : event.time_ns - first_ns, values);
  }
  return maker.finish(answers.index().length_ns());
}

const DeviceTime* device_of(const TraceAnswers& answers, const Curve& curve) {
  for (const DeviceTime& device : answers.devices())
    if (device.process == curve.process && device.device == curve.device) return &device;
  return nullptr;
}

std::vector<float> busy_values(const TraceAnswers& answers, const Curve& curve, Nanos from,
                               Nanos to, std::uint32_t buckets) {
  std::vector<float> out(buckets, 0);
  const DeviceTime* device = device_of(answers, curve);
  if (device == nullptr) return out;
  const Nanos first_ns = answers.trace().first_ns();
  const double width = static_cast<double>(to - from) / buckets;
  std::vector<double> busy(buckets, 0);
  const auto add = [&](Nanos begin, Nanos end, double sign) {
    begin = std::max(begin - first_ns, from);
    end = std::min(end - first_ns, to);
    if (end <= begin) return;
    const auto part = [&](Nanos at) { return static_cast<double>(at - from) / width; };
    const double a = part(begin);
    const double b = part(end);
    const auto first = std::min<std::size_t>(static_cast<std::size_t>(a), buckets - 1);
    const auto last = std::min<std::size_t>(static_cast<std::size_t>(b), buckets - 1);
    for (std::size_t i = first; i <= last; ++i)
      busy[i] += sign * std::max(0.0, std::min(b, static_cast<double>(i) + 1) -
                                          std::max(a, static_cast<double>(i)));
  };
  add(device->begin_ns, device->end_ns, 1);
  for (const DeviceGap& gap : device->gaps) add(gap.begin_ns, gap.end_ns, -1);
  for (std::size_t i = 0; i < buckets; ++i)
    out[i] = static_cast<float>(100 * std::clamp(busy[i], 0.0, 1.0));
  return out;
}

std::vector<float> queue_values(const TraceAnswers& answers, const Curve& curve, Nanos from,
                                Nanos to, std::uint32_t buckets) {
  BucketMaker maker(from, to, buckets, 1);
  double depth = 0;
  maker.step(0, {0});
  for (const QueueChange& change : answers.queue()) {
    if (change.process != curve.process || change.device != curve.device) continue;
    depth += change.by;
    maker.step(change.at, {depth});
  }
  return maker.finish(answers.index().length_ns());
}

std::vector<float> counter_values(const TraceAnswers& answers, const Curve& curve, Nanos from,
                                  Nanos to, std::uint32_t buckets) {
  const CounterTable& table = answers.trace().counters();
  std::vector<std::pair<Nanos, double>> values;
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table.name[i] == curve.counter && table.series[i] == curve.counter_series &&
        std::isfinite(table.value[i]) &&
        counter_owner(answers.trace(), table.track[i]) == CounterOwner{curve.process, curve.track})
      values.emplace_back(table.time_ns[i] - answers.trace().first_ns(), table.value[i]);
  std::stable_sort(values.begin(), values.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  BucketMaker maker(from, to, buckets, 1);
  for (const auto& [at, value] : values) maker.step(at, {value});
  return maker.finish(answers.index().length_ns());
}

}  // namespace

std::vector<Curve> curves(const Trace& trace) {
  std::vector<Curve> out;
  add_devices(trace, out);
  add_memory(trace, out);
  add_counters(trace, out);
  return out;
}

std::vector<float> curve_values(const TraceAnswers& answers, const Curve& curve, Nanos from,
                                Nanos to, std::uint32_t buckets) {
  switch (curve.kind) {
    case CurveKind::Memory:
      return memory_values(answers, curve, from, to, buckets);
    case CurveKind::Busy:
      return busy_values(answers, curve, from, to, buckets);
    case CurveKind::Queue:
      return queue_values(answers, curve, from, to, buckets);
    case CurveKind::Counter:
      break;
  }
  return counter_values(answers, curve, from, to, buckets);
}

std::string gaps_json(const TraceAnswers& answers, const Curve& curve, Nanos from, Nanos to,
                      std::uint32_t buckets) {
  PageJson json;
  std::vector<DeviceGap> shown;
  const Nanos first_ns = answers.trace().first_ns();
  const Nanos least_ns = (to - from) / buckets;
  if (const DeviceTime* device = device_of(answers, curve))
    for (const DeviceGap& gap : device->gaps)
      if (gap.length_ns() > least_ns && gap.end_ns - first_ns > from &&
          gap.begin_ns - first_ns < to)
        shown.push_back(gap);
  json.key("gaps").list(shown, [&](const DeviceGap& gap) {
    json.list(
        std::array{gap.begin_ns - first_ns, gap.end_ns - first_ns, static_cast<Nanos>(gap.cause),
                   static_cast<Nanos>(gap.host), static_cast<Nanos>(gap.after.value()),
                   gap.wait.valid() ? static_cast<Nanos>(gap.wait.value()) : Nanos{-1}},
        [&](Nanos value) { json.number(value); });
  });
  return json.done();
}

}  // namespace sonde::detail
