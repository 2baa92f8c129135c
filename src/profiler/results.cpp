// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A profiler's answers about the cycle it recorded.

#include "analyse/flags.h"
#include "base/output_file.h"
#include "profiler/cycle_recorder.h"
#include "profiler/message.h"
#include "sonde/export.h"
#include "sonde/profiler.h"
#include "sonde/view/memory_timeline.h"

namespace sonde {

EventList Profiler::events() const {
  const Result<Trace> cycle = trace();
  if (cycle) return function_events(*cycle);
  report_error(cycle.error().message);
  return {};
}

KeyAverages Profiler::key_averages(const GroupBy& group_by) const {
  return events().key_averages(group_by);
}

Result<void> Profiler::save(const std::string& path) const {
  SONDE_TRY_VOID(not_onto(this->path(), path));
  SONDE_TRY(const Trace cycle, trace());
  return save_trace(cycle, path);
}

Result<void> Profiler::export_chrome_trace(const std::string& path) const {
  SONDE_TRY_VOID(not_onto(this->path(), path));
  SONDE_TRY(const Trace cycle, trace());
  return sonde::export_chrome_trace(cycle, path);
}

Result<void> Profiler::export_stacks(const std::string& path, std::string_view metric) const {
  SONDE_TRY(const StackMetric by, parse_stack_metric(metric));
  SONDE_TRY_VOID(not_onto(this->path(), path));
  SONDE_TRY(const Trace cycle, trace());
  const EventList list = function_events(cycle);
  if (!list.with_stack()) {
    return Failure(ErrorCode::Invalid,
                   path + ": no stacks to export; record with with_stack = true");
  }
  return write_file_whole(path, list.collapsed_stacks(by));
}

Result<void> Profiler::export_memory_timeline(const std::string& path,
                                              std::string_view device) const {
  SONDE_TRY_VOID(not_onto(this->path(), path));
  SONDE_TRY(const Trace cycle, trace());
  std::string missing;
  for (const char* flag : {"record_shapes", "profile_memory"}) {
    if (detail::has_flag(cycle, flag)) continue;
    missing += (missing.empty() ? "" : ", ") + std::string(flag) + "=True";
  }
  if (!missing.empty())
    return Failure(ErrorCode::Invalid, missing + " required for memory profiling.");
  return sonde::export_memory_timeline(cycle, path, device);
}

}  // namespace sonde
