// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/export.h"

#if SONDE_HAS_PROTOZERO

#include <algorithm>
#include <vector>

#include "base/output_file.h"
#include "convert/perfetto/slices.h"

namespace sonde {

namespace {

using namespace detail;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kFlushBytes = std::size_t{1} << 20;

// A value of a counter at a time.
struct Sample {
  Nanos time_ns;
  std::uint64_t track_uuid;
  double value;
};

std::string device_name(DeviceType type, std::int32_t index) {
  const std::string name(to_string(type));
  return index < 0 ? name : name + ":" + std::to_string(index);
}

class PerfettoExport {
 public:
  // Goes on with the numbers in `place`.
  PerfettoExport(const Trace& trace, OutputFile& file, PerfettoPlace& place,
                 const ClockShift& clock = {})
      : trace_(trace),
        file_(file),
        place_(place),
        plan_(trace, clock, place),
        tracks_(trace, out_, place) {}

  Result<void> run() {
    PerfettoSlices slices(plan_, tracks_, out_, place_.last_sequence);
    for (std::size_t track = 0; track <= trace_.tracks().size(); ++track) {
      slices.write(track, [this] { return flush(kFlushBytes); });
    }
    write_samples();
    flush(0);
    place_.last_flow += plan_.flows.size();
    return std::move(result_);
  }

 private:
  bool flush(std::size_t at_least) {
    if (out_.size() < at_least) return result_.has_value();
    if (result_) result_ = file_.append(out_);
    out_.clear();
    return result_.has_value();
  }

  // Counters of the program, and the memory in use.
  std::vector<Sample> samples() {
    std::vector<Sample> list;
    const CounterTable& counters = trace_.counters();
    for (std::size_t i = 0; i < counters.size(); ++i) {
      std::string name(trace_.string(counters.name[i]));
      const std::string_view series = trace_.string(counters.series[i]);
      if (!series.empty()) name += " " + std::string(series);
      list.push_back(
          {counters.time_ns[i], tracks_.counter(counters.track[i], name, 0), counters.value[i]});
    }
    const AllocationTable& allocations = trace_.allocations();
    const auto add_total = [&](std::size_t i, const char* what, std::int64_t bytes) {
      if (bytes < 0) return;
      const std::string device =
          device_name(allocations.device_type[i], allocations.device_index[i]);
      const std::uint64_t track =
          tracks_.counter(allocations.track[i], what + (" on " + device), kUnitBytes);
      list.push_back({allocations.time_ns[i], track, static_cast<double>(bytes)});
    };
    for (std::size_t i = 0; i < allocations.size(); ++i) {
      add_total(i, "memory allocated", allocations.total_allocated_bytes[i]);
      add_total(i, "memory reserved", allocations.total_reserved_bytes[i]);
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const Sample& a, const Sample& b) { return a.time_ns < b.time_ns; });
    return list;
  }

  void write_samples() {
    const std::vector<Sample> list = samples();
    if (list.empty()) return;
    PerfettoSequence sequence(out_, ++place_.last_sequence, 0, plan_.at(trace_.first_ns()));
    for (const Sample& sample : list) {
      EventBuilder event(sequence, EventType::Counter);
      event.track(sample.track_uuid);
      event.counter(sample.value);
      event.write(plan_.at(sample.time_ns));
      if (!flush(kFlushBytes)) return;
    }
  }

  const Trace& trace_;
  OutputFile& file_;
  PerfettoPlace& place_;
  PerfettoPlan plan_;
  std::string out_;
  PerfettoTracks tracks_;
  Result<void> result_;
};

}  // namespace

Result<void> export_perfetto(const Trace& trace, const std::string& path) {
  SONDE_TRY(OutputFile file, OutputFile::create(path));
  PerfettoPlace place;
  SONDE_TRY_VOID(PerfettoExport(trace, file, place).run());
  return file.commit();
}

Result<void> export_perfetto(const std::vector<JoinedTrace>& traces, const std::string& path) {
  SONDE_TRY(OutputFile file, OutputFile::create(path));
  PerfettoPlace place;
  for (const JoinedTrace& one : traces) {
    SONDE_TRY(const Trace trace, one.open());
    place.name = one.name;
    SONDE_TRY_VOID(PerfettoExport(trace, file, place, one.clock).run());
  }
  return file.commit();
}

}  // namespace sonde

#else

namespace sonde {

namespace {

Failure without_protozero(const std::string& path) {
  return Failure(
      ErrorCode::Unsupported,
      path + ": this Sonde cannot write Perfetto traces; it was built without libprotozero-dev");
}

}  // namespace

Result<void> export_perfetto(const Trace& /*trace*/, const std::string& path) {
  return without_protozero(path);
}

Result<void> export_perfetto(const std::vector<JoinedTrace>& /*traces*/, const std::string& path) {
  return without_protozero(path);
}

}  // namespace sonde

#endif
