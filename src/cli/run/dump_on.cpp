// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/dump_on.h"

#include <charconv>
#include <string_view>

#include "cli/run/values.h"

namespace sonde::cli {
namespace {

// "3x" or "1.5x" as percent.
Result<std::int64_t> parse_times(const std::string& text) {
  constexpr double kMost = 1'000'000;
  double times = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), times);
  const std::string_view rest(stopped,
                              static_cast<std::size_t>(text.data() + text.size() - stopped));
  if (error == std::errc{} && (rest == "x" || rest.empty()) && times > 1 && times < kMost)
    return static_cast<std::int64_t>(times * 100);
  return Failure(ErrorCode::Invalid,
                 "'" + text + "' is not a multiple above 1; write slow-step:3x");
}

Result<void> add_reason(const std::string& reason, DumpOn& on) {
  const std::size_t colon = reason.find(':');
  const std::string word = reason.substr(0, colon);
  const std::string value = colon == std::string::npos ? "" : reason.substr(colon + 1);
  if (reason == "crash") {
    on.crash = true;
  } else if (reason == "exit!=0") {
    on.bad_exit = true;
  } else if (word == "slow-step") {
    SONDE_TRY(on.rules.slow_step_percent, parse_times(value));
  } else if (word == "hang") {
    SONDE_TRY(on.rules.hang_ns, parse_duration(value));
  } else if (word == "signal") {
    SONDE_TRY(on.rules.signal, parse_signal(value));
  } else {
    return Failure(ErrorCode::Invalid,
                   "'" + reason +
                       "' is no reason for a dump; the reasons are "
                       "slow-step:3x, hang:60s, signal:USR2, crash and exit!=0");
  }
  return {};
}

}  // namespace

Result<DumpOn> parse_dump_on(const std::string& text) {
  DumpOn on;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    SONDE_TRY_VOID(add_reason(text.substr(at, end - at), on));
    at = end + 1;
  }
  return on;
}

}  // namespace sonde::cli
