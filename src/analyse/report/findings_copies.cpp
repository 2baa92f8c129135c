// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Copies between host and devices that could be cheaper or are unnecessary.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyse/report/findings.h"
#include "analyse/report/host_work.h"
#include "analyse/time/launches.h"
#include "base/format.h"
#include "base/sum.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

// Smaller copies show no rate: they take as long as calling them.
constexpr std::int64_t kLeastRateBytes = 1 << 20;
constexpr std::int64_t kLeastFasterBytes = 1 << 16;
// What pinned memory reaches where the trace has no example, in bytes by nanosecond, which is GB/s:
// somewhat less than the link of the boards that carry such devices (16 lanes of PCIe 3, 4, 5).
constexpr double kRateBefore8 = 11;
constexpr double kRateOf8 = 22;
constexpr double kRateFrom9 = 45;

struct PinnedRate {
  double bytes_by_ns = 0;
  bool is_seen = false;
};

PinnedRate pinned_rate(const Trace& trace) {
  PinnedRate rate;
  const CopyTable& copies = trace.copies();
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const MemoryKind host =
        copies.kind[i] == CopyKind::HtoD ? copies.source_kind[i] : copies.destination_kind[i];
    const bool is_between = copies.kind[i] == CopyKind::HtoD || copies.kind[i] == CopyKind::DtoH;
    if (!is_between || host != MemoryKind::Pinned || copies.bytes[i] < kLeastRateBytes) continue;
    const Nanos time_ns = copies.span[i].valid() ? trace.spans().duration_ns[copies.span[i]] : 0;
    if (time_ns <= 0) continue;
    rate.is_seen = true;
    rate.bytes_by_ns = std::max(
        rate.bytes_by_ns, static_cast<double>(copies.bytes[i]) / static_cast<double>(time_ns));
  }
  if (rate.is_seen) return rate;
  std::int32_t major = -1;
  for (std::size_t i = 0; i < trace.devices().size(); ++i)
    major = std::max(major, trace.devices().compute_major[i]);
  rate.bytes_by_ns = major >= 9 ? kRateFrom9 : major == 8 ? kRateOf8 : kRateBefore8;
  return rate;
}

// What is left of a copy's time at that rate.
double left_at(const PinnedRate& rate, const Trace& trace, SpanId copy, std::int64_t bytes) {
  const Nanos time_ns = trace.spans().duration_ns[copy];
  if (bytes < kLeastFasterBytes || time_ns <= 0) return 1;
  return std::min(1.0,
                  static_cast<double>(bytes) / rate.bytes_by_ns / static_cast<double>(time_ns));
}

// Those in the part that findings are about.
struct CopySum {
  CopySum(const ReportData& data, const std::vector<CopyTime>& copies) : seen(data) {
    const Trace& trace = data.trace;
    for (const CopyTime& copy : copies) {
      const Nanos begin_ns = trace.spans().start_ns[copy.span];
      if (!data.steady.has(begin_ns)) continue;
      bytes += static_cast<std::uint64_t>(copy.bytes);
      const SpanId call = trace.spans().launch[copy.span];
      seen.add(call.valid() ? outermost_operator(trace, call) : copy.span,
               trace.spans().track[copy.span], begin_ns, begin_ns + copy.time_ns);
      spans.push_back(copy.span);
      sizes.push_back(copy.bytes);
    }
  }
  std::uint64_t bytes = 0;
  Evidence seen;
  std::vector<SpanId> spans;
  std::vector<std::int64_t> sizes;  // of each
};

// The host does not wait, and its call takes no time.
void make_asynchronous(const Trace& trace, SpanId copy, Changes& changes) {
  const SpanId call = trace.spans().launch[copy];
  if (!call.valid() || !is_call(trace.spans().kind[call])) return;
  changes.no_wait(call);
  changes.cut(trace.spans().track[call], trace.spans().start_ns[call], trace.end_ns(call));
}

// Copies from a device to the host, in order.
std::vector<SpanId> copies_to_host(const Trace& trace) {
  std::vector<SpanId> spans;
  const CopyTable& table = trace.copies();
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table.kind[i] == CopyKind::DtoH) spans.push_back(table.span[i]);
  std::sort(spans.begin(), spans.end());
  return spans;
}

// As from or to pinned memory. What comes from the device may be needed at once: the host still
// waits for it.
void pin(const Trace& trace, SpanId copy, bool comes_back, double left, Changes& changes) {
  changes.scale(copy, left);
  if (!comes_back) return make_asynchronous(trace, copy, changes);
  const SpanId call = trace.spans().launch[copy];
  if (call.valid() && is_call(trace.spans().kind[call]))
    changes.cut(trace.spans().track[call], trace.spans().start_ns[call], trace.end_ns(call), left);
}

std::string pinning_advice(const Trace& trace, std::vector<SpanId> copies) {
  std::sort(copies.begin(), copies.end());
  const CopyTable& table = trace.copies();
  bool goes_out = false;
  bool comes_back = false;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (!std::binary_search(copies.begin(), copies.end(), table.span[i])) continue;
    goes_out |= table.kind[i] == CopyKind::HtoD;
    comes_back |= table.kind[i] == CopyKind::DtoH;
    if (goes_out && comes_back) break;
  }
  std::string text;
  if (goes_out || !comes_back)
    text =
        "To the device: pin the memory on the host (pin_memory=True in a DataLoader, "
        "tensor.pin_memory()) and copy with non_blocking=True, so that copies run alongside "
        "kernels.";
  if (comes_back)
    text +=
        std::string(text.empty() ? "" : " ") +
        "From the device: copy into a pinned tensor that you keep, with non_blocking=True if the "
        "host needs the result only later.";
  return text;
}

void pageable(const ReportData& data, Report& report) {
  CopySum sum(data, report.copies.pageable);
  if (sum.seen.empty()) return;
  Changes changes(data.program());
  const PinnedRate rate = pinned_rate(report.trace);
  const std::vector<SpanId> to_host = copies_to_host(report.trace);
  for (std::size_t i = 0; i < sum.spans.size(); ++i) {
    const SpanId copy = sum.spans[i];
    const bool comes_back = std::binary_search(to_host.begin(), to_host.end(), copy);
    pin(report.trace, copy, comes_back, left_at(rate, report.trace, copy, sum.sizes[i]), changes);
  }
  add_simulated(
      data, report,
      {.id = "pageable_copies",
       .title = "Copies use unpinned memory",
       .detail = format_text("{} in copies: {}. The driver copies unpinned memory a second time, "
                             "and the host waits for it. The saving assumes that pinned memory is "
                             "copied at {:.0f} GB/s{}, and that the host does not wait for copies "
                             "to the device.",
                             bytes_text(sum.bytes), sum.seen.lengths(), rate.bytes_by_ns,
                             rate.is_seen ? " as others were here" : " (an assumption)"),
       .advice = pinning_advice(report.trace, sum.spans),
       .command = "sonde table TRACE --sort-by self_device_time_total"},
      sum.seen, sum.seen.total_ns(), changes);
}

// Neither copy happens, and what the host computed in between is done on the device. Returns how
// long that was.
Nanos stay_on_device(const ReportData& data, const CopyTime& copy, Launchers& launchers,
                     Changes& changes) {
  const Trace& trace = data.trace;
  const SpanTable& spans = trace.spans();
  for (const SpanId one : {copy.earlier, copy.span}) {
    if (!one.valid()) continue;
    make_asynchronous(trace, one, changes);
    changes.scale(one, 0);
  }
  const SpanId call = spans.launch[copy.span];
  const SpanId first_call = copy.earlier.valid() ? spans.launch[copy.earlier] : SpanId();
  if (!first_call.valid() || !call.valid() || spans.track[call] != spans.track[first_call])
    return 0;
  const TrackId thread = spans.track[call];
  Nanos between_ns = 0;
  const auto cut = [&](Nanos begin_ns, Nanos end_ns) {
    changes.cut(thread, begin_ns, end_ns);
    add_to(between_ns, end_ns);
    take_from(between_ns, begin_ns);
  };
  const Nanos from_ns = trace.end_ns(first_call);
  const Nanos to_ns = spans.start_ns[call];
  // If the thread did nothing else for the device, all of the time was for these data.
  if (data.program().launches().between(first_call.value() + 1, call.value()).empty()) {
    if (from_ns < to_ns) cut(from_ns, to_ns);
    for (std::uint32_t row = first_call.value() + 1; row < call.value(); ++row)
      changes.no_wait(SpanId(row));
  } else {
    for_covered(launchers.of(thread).computing(), from_ns, to_ns, cut);
  }
  return between_ns;
}

// Where the host asked for it.
Nanos asked_ns(const Trace& trace, SpanId copy) {
  const SpanId call = trace.spans().launch[copy];
  return trace.spans().start_ns[call.valid() ? call : copy];
}

// Whether a copy may bring the data of the earlier one back. Input that has the size of the output
// before it is something else, and what goes to other ranks as well.
class Returns {
 public:
  Returns(const ReportData& data, const Report& report) : data_(data), launchers_(data) {
    for (const StepTime& step : report.steps.steps)
      steps_[step.process.value()].emplace_back(step.begin_ns, step.end_ns);
  }

  bool is(const CopyTime& copy) {
    if (!copy.earlier.valid()) return false;
    const Nanos from_ns = asked_ns(data_.trace, copy.earlier);
    const Nanos to_ns = asked_ns(data_.trace, copy.span);
    const TrackId track = data_.trace.spans().track[copy.span];
    const ProcessId process = track.valid() ? data_.trace.tracks().process[track] : ProcessId();
    if (from_ns > to_ns || data_.collectives_of(process).within_ns(from_ns, to_ns) > 0)
      return false;
    if (!steps_.empty()) return is_one_step(process, from_ns, to_ns);
    // Without steps: the host computed something in between.
    const SpanId call = data_.trace.spans().launch[copy.span];
    return call.valid() &&
           launchers_.of(data_.trace.spans().track[call]).computing().within_ns(from_ns, to_ns) > 0;
  }

 private:
  bool is_one_step(ProcessId process, Nanos from_ns, Nanos to_ns) const {
    const auto found = steps_.find(process.value());
    if (found == steps_.end()) return false;
    const auto& steps = found->second;
    const auto after = std::upper_bound(steps.begin(), steps.end(), std::pair(from_ns, kLatestNs));
    return after != steps.begin() && to_ns < std::prev(after)->second;
  }

  static constexpr Nanos kLatestNs = std::numeric_limits<Nanos>::max();
  const ReportData& data_;
  Launchers launchers_;
  // By process, in time order: begin and end.
  std::unordered_map<std::uint32_t, std::vector<std::pair<Nanos, Nanos>>> steps_;
};

void returned(const ReportData& data, Report& report) {
  const std::vector<CopyTime> copies = round_trips(data, report);
  CopySum sum(data, copies);
  if (sum.seen.empty()) return;
  Changes changes(data.program());
  Launchers launchers(data);
  Nanos between_ns = 0;
  for (const CopyTime& copy : copies)
    if (data.steady.has(report.trace.spans().start_ns[copy.span]))
      add_to(between_ns, stay_on_device(data, copy, launchers, changes));
  Nanos at_most_ns = sum.seen.total_ns();
  add_to(at_most_ns, between_ns);
  add_simulated(
      data, report,
      {.id = "copies_there_and_back",
       .title = "Data seems to leave the device and come back",
       .detail = format_text(
           "{} to the device had the same size as an earlier copy from "
           "it: {} and {} in both directions{}.",
           sum.spans.size() == 1 ? std::string("One copy")
                                 : count_text(sum.spans.size()) + " copies",
           bytes_text(sum.bytes), duration_text(sum.seen.total_ns()),
           between_ns == 0 ? ""
                           : ", with " + duration_text(between_ns) + " of the host in between"),
       .advice = "Do on the device what the host does with the data in between.",
       .command = "sonde events TRACE"},
      sum.seen, at_most_ns, changes);
}

// Copies of pageable memory have their own finding and are left out.
void exposed(const ReportData& data, Report& report) {
  std::vector<SpanId> told;
  told.reserve(report.copies.pageable.size());
  for (const CopyTime& copy : report.copies.pageable) told.push_back(copy.span);
  std::sort(told.begin(), told.end());
  Evidence seen(data);
  Changes changes(data.program());
  for (const DeviceWork& device : data.work) {
    Coverage kernels;
    Coverage copies;
    for (const Work& work : device.work)
      (is_copy(report.trace.spans().kind[work.span]) ? copies : kernels)
          .add(work.begin_ns, work.end_ns);
    const double hidden = could_overlap(data, copies, kernels);
    for (const Work& work : device.work) {
      if (!is_copy(report.trace.spans().kind[work.span])) continue;
      if (std::binary_search(told.begin(), told.end(), work.span)) continue;
      const Nanos alone_ns =
          work.end_ns - work.begin_ns - kernels.within_ns(work.begin_ns, work.end_ns);
      if (alone_ns <= 0 || !data.steady.has(work.begin_ns)) continue;
      seen.add(work.span, report.trace.spans().track[work.span], work.begin_ns,
               work.begin_ns + alone_ns);
      changes.scale(work.span, 1 - hidden);
    }
  }
  if (seen.empty()) return;
  add_simulated(
      data, report,
      {.id = "exposed_copies",
       .title = "Copies and fills run while nothing computes",
       .detail = format_text("A device ran copies or fills and no kernel: {}. The saving assumes "
                             "that they run beside kernels, as far as there are any.",
                             seen.lengths()),
       .advice = "Copy on a separate stream, one step ahead, with non_blocking=True. Create data "
                 "on the device where possible.",
       .command = "sonde export TRACE -o trace.json.gz"},
      seen, seen.total_ns(), changes);
}

}  // namespace

std::vector<CopyTime> round_trips(const ReportData& data, const Report& report) {
  std::vector<CopyTime> copies;
  Returns returns(data, report);
  for (const CopyTime& copy : report.copies.returned)
    if (returns.is(copy)) copies.push_back(copy);
  return copies;
}

Coverage between_round_trips(const ReportData& data, const Report& report) {
  Stretches between;
  for (const CopyTime& copy : round_trips(data, report))
    between.add(asked_ns(data.trace, copy.earlier), asked_ns(data.trace, copy.span));
  return between.united();
}

void find_in_copies(const ReportData& data, Report& report) {
  pageable(data, report);
  returned(data, report);
  exposed(data, report);
}

}  // namespace sonde::detail
