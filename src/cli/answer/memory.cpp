// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde memory`: what held memory, and when.

#include "cli/answer/memory.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "cli/answers.h"
#include "cli/print/progress.h"
#include "sonde/view/memory_timeline.h"

namespace sonde::cli {
namespace {

constexpr std::size_t kMostOutOfMemory = 8;

Result<const DeviceMemory*> device_of(const MemoryCommand& options, const MemoryProfile& profile) {
  Result<const DeviceMemory*> device = profile.find(options.device);
  if (device) return device;
  return Failure(device.error().code, options.file + ": " + device.error().message);
}

Result<void> export_to(const MemoryCommand& options, const MemoryProfile& profile) {
  SONDE_TRY(const DeviceMemory* const device, device_of(options, profile));
  for (const std::string& sentence : profile.missing) say(options.file + ": " + sentence);
  const Progress progress("writing " + options.output);
  return export_memory_timeline(profile, *device, options.output);
}

Result<std::vector<MemoryReport>> reports_of(const MemoryCommand& options,
                                             const MemoryProfile& profile) {
  std::vector<MemoryReport> reports;
  if (!options.device.empty()) {
    SONDE_TRY(const DeviceMemory* const device, device_of(options, profile));
    reports.emplace_back(profile, *device);
    return reports;
  }
  for (const DeviceMemory& device : profile.devices) reports.emplace_back(profile, device);
  return reports;
}

}  // namespace

MemoryReport::MemoryReport(const MemoryProfile& whole, const DeviceMemory& one)
    : profile(whole), device(one) {
  constexpr std::size_t kFewEvents = 65536;  // for which a thread is not worth starting
  const std::array<std::function<void()>, 4> parts = {
      [&] { ops = memory_by_op(whole, one); }, [&] { steps = memory_by_step(whole, one); },
      [&] { leaks = memory_leaks(whole, one); },
      [&] { peak = memory_moment(whole, one, one.peak.event); }};
  parallel_for(
      parts.size(), [&](std::size_t part) { parts.at(part)(); },
      one.events.size() < kFewEvents ? 1 : 0);
  for (const AllocationId row : one.out_of_memory) {
    if (out_of_memory.size() == kMostOutOfMemory) break;
    const Nanos time_ns = whole.trace.allocations().time_ns[row];
    out_of_memory.push_back({row, memory_moment(whole, one, memory_event_at(one, time_ns))});
  }
}

// The library writes JSON to any name, as PyTorch does. Here an unknown suffix may be a slip.
Result<void> check(const MemoryCommand& options) {
  constexpr std::string_view kTimelineSuffixes[] = {".html", ".svg", ".json", ".json.gz"};
  const bool is_known =
      std::any_of(std::begin(kTimelineSuffixes), std::end(kTimelineSuffixes),
                  [&](std::string_view suffix) { return options.output.ends_with(suffix); });
  if (options.output.empty() || is_known) return {};
  return Failure(ErrorCode::Invalid, options.output +
                                         ": Sonde cannot write a timeline with this suffix; use "
                                         ".html, .svg, .json, .json.gz or .raw.json.gz");
}

Result<void> run_memory(const MemoryCommand& options, Output& out) {
  SONDE_TRY_VOID(not_onto_itself(options.file, options.output));
  SONDE_TRY(const Trace trace, open_to_answer(options.file, options.open));
  return answer_memory(trace, options, out);
}

Result<void> answer_memory(const Trace& trace, const MemoryCommand& options, Output& out) {
  const MemoryProfile profile = memory_profile(trace);
  if (profile.devices.empty()) {
    return Failure(ErrorCode::Invalid, device_of(options, profile).error().message +
                                           " (record it with `sonde run --memory --shapes`)");
  }
  if (!options.output.empty()) return export_to(options, profile);
  SONDE_TRY(const std::vector<MemoryReport> reports, reports_of(options, profile));
  const std::size_t rows = options.row_limit < 0 ? std::numeric_limits<std::size_t>::max()
                                                 : static_cast<std::size_t>(options.row_limit);
  if (options.format == Format::Json) {
    write_memory_json(profile, reports, rows, out);
    return {};
  }
  for (const std::string& sentence : profile.missing) out.line("Note: " + sentence + ".\n");
  for (const MemoryReport& report : reports) write_memory_text(report, rows, out);
  return {};
}

}  // namespace sonde::cli
