// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/demand.h"

#include <charconv>

namespace sonde {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kLongest = std::int64_t{24} * 3600 * 1000;  // ms

struct NumberKey {
  std::string_view name;
  std::int64_t Demand::* member;
  std::int64_t unit;
  std::int64_t least;
  std::int64_t most;
};
constexpr std::int64_t kMany = std::int64_t{1} << 53;
// In the year 2248; in ns it still fits.
constexpr std::int64_t kLatestStart = std::int64_t{1} << 43;  // ms
constexpr NumberKey kNumbers[] = {
    {"PROFILE_START_TIME", &Demand::start_ms, 1, 0, kLatestStart},
    {"ACTIVITIES_DURATION_MSECS", &Demand::duration_ns, kMillisecond, 1, kLongest},
    {"ACTIVITIES_DURATION_SECS", &Demand::duration_ns, 1000 * kMillisecond, 1, kLongest / 1000},
    {"ACTIVITIES_ITERATIONS", &Demand::steps, 1, 0, kMany},
    {"PROFILE_START_ITERATION", &Demand::first_step, 1, -1, kMany},
    {"PROFILE_START_ITERATION_ROUNDUP", &Demand::multiple_of, 1, 0, kMany},
};

struct FlagKey {
  std::string_view name;
  bool RecordOptions::* member;
};
constexpr FlagKey kFlags[] = {
    {"PROFILE_REPORT_INPUT_SHAPES", &RecordOptions::record_shapes},
    {"PROFILE_PROFILE_MEMORY", &RecordOptions::profile_memory},
    {"PROFILE_WITH_STACK", &RecordOptions::with_stack},
    {"PROFILE_WITH_FLOPS", &RecordOptions::with_flops},
    {"PROFILE_WITH_MODULES", &RecordOptions::with_modules},
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

Failure not_understood(std::string_view key, std::string_view value) {
  return Failure(ErrorCode::Invalid, std::string(key) + "=" + std::string(value.substr(0, 64)) +
                                         ": not understood; the request is ignored");
}

Result<void> take_line(Demand& demand, std::string_view key, std::string_view value) {
  for (const NumberKey& known : kNumbers) {
    if (key != known.name) continue;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool is_whole = error == std::errc{} && end == value.data() + value.size();
    if (!is_whole || number < known.least || number > known.most) return not_understood(key, value);
    demand.*known.member = number * known.unit;
  }
  for (const FlagKey& known : kFlags)
    if (key == known.name)
      demand.record.*known.member = value == "true" || value == "1" || value == "yes";
  if (key == "ACTIVITIES_LOG_FILE") demand.file = value;
  return {};
}

}  // namespace

Result<Demand> demand_from(std::string_view configuration) {
  Demand demand;
  bool by_steps = false;
  while (!configuration.empty()) {
    const std::size_t end = configuration.find('\n');
    const std::string_view line = configuration.substr(0, end);
    configuration.remove_prefix(end == std::string_view::npos ? configuration.size() : end + 1);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = trimmed(line.substr(0, equals));
    SONDE_TRY_VOID(take_line(demand, key, trimmed(line.substr(equals + 1))));
    by_steps = by_steps || key == "PROFILE_START_ITERATION";
  }
  // As in PyTorch: without a step to begin with, the time counts.
  if (!by_steps || demand.first_step < 0) demand.steps = 0;
  if (demand.multiple_of == 0) demand.multiple_of = 1;
  return demand;
}

std::string demand_file(const Demand& demand, std::int64_t pid) {
  if (demand.file.empty()) return "/tmp/libkineto_activities_" + std::to_string(pid) + ".json";
  const std::string inserted = "_" + std::to_string(pid);
  for (const std::string_view suffix : {".json", ".json.gz"})
    if (demand.file.ends_with(suffix))
      return demand.file.substr(0, demand.file.size() - suffix.size()) + inserted +
             std::string(suffix);
  return demand.file + inserted + ".json";
}

}  // namespace sonde
