// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/profile/schedule.h"

#include <string>

#include "profiler/message.h"

namespace sonde {
namespace {

std::string values_text(const ScheduleOptions& options) {
  return "wait=" + std::to_string(options.wait) + ", warmup=" + std::to_string(options.warmup) +
         ", active=" + std::to_string(options.active) +
         ", repeat=" + std::to_string(options.repeat) +
         ", skip_first=" + std::to_string(options.skip_first);
}

bool possible(const ScheduleOptions& options) {
  std::int64_t sum = 0;
  return options.wait >= 0 && options.warmup >= 0 && options.active > 0 && options.repeat >= 0 &&
         options.skip_first >= 0 && !__builtin_add_overflow(options.wait, options.warmup, &sum) &&
         !__builtin_add_overflow(sum, options.active, &sum);
}

// `step` is not negative. Unsigned, so that step + wait cannot overflow.
ProfilerAction action_at(const ScheduleOptions& options, std::int64_t step) {
  if (step < options.skip_first) return ProfilerAction::None;
  const auto wait = static_cast<std::uint64_t>(options.wait);
  const std::uint64_t warm = wait + static_cast<std::uint64_t>(options.warmup);
  const std::uint64_t cycle = warm + static_cast<std::uint64_t>(options.active);

  auto at = static_cast<std::uint64_t>(step - options.skip_first);
  if (options.skip_first_wait != 0) at += wait;
  if (options.repeat > 0 && at / cycle >= static_cast<std::uint64_t>(options.repeat)) {
    return ProfilerAction::None;
  }
  at %= cycle;
  if (at < wait) return ProfilerAction::None;
  if (at < warm) return ProfilerAction::Warmup;
  return at == cycle - 1 ? ProfilerAction::RecordAndSave : ProfilerAction::Record;
}

}  // namespace

Schedule schedule(const ScheduleOptions& options) {
  if (!possible(options)) {
    return Schedule(
        Failure(ErrorCode::Invalid,
                "schedule: active must be positive and the others must not be negative: " +
                    values_text(options)));
  }
  if (options.warmup == 0) {
    report_warning("Profiler won't be using warmup, this can skew profiler results");
  }
  return [options](std::int64_t step) { return action_at(options, step); };
}

}  // namespace sonde
