// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/profile/dynamo_profiler.h"

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

#include "profiler/message.h"

namespace sonde::dynamo {
namespace {

std::atomic<std::int64_t>& graphs() {
  static std::atomic<std::int64_t> count = 0;
  return count;
}

ProfilerOptions options() {
  ProfilerOptions chosen;
  chosen.record.activities = {Activity::Cpu};
  chosen.record.with_stack = should_print_missing();
  return chosen;
}

}  // namespace

bool should_print_missing() {
  const char* wish = std::getenv("TORCHDYNAMO_PRINT_MISSING");
  return wish != nullptr && std::string_view(wish) == "1";
}

void count_graph() noexcept {
  ++graphs();
}

Profiler::Profiler() : prof_(options()) {}

ProfileResult Profiler::results() {
  prof_.stop();
  const EventList events = prof_.events();
  if (should_print_missing()) {
    for (const std::string& line : missing_lines(events)) report_warning(line);
  }
  return profile_result(events, graphs().exchange(0));
}

}  // namespace sonde::dynamo
