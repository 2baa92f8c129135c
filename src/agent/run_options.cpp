// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/run_options.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include "agent/run_environment.h"
#include "collect/record_options.h"

namespace sonde {
namespace {

constexpr std::pair<BufferPolicy, const char*> kPolicies[] = {
    {BufferPolicy::Spill, "spill"}, {BufferPolicy::Drop, "drop"}, {BufferPolicy::Ring, "ring"}};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, char separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

class Reader {
 public:
  explicit Reader(const EnvironmentLookup& lookup) : lookup_(lookup) {}

  const char* text(const char* name) const { return lookup_(name); }

  template <typename T>
  Result<void> number(const char* name, T& value) const {
    const char* const text = lookup_(name);
    if (text == nullptr) return {};
    const char* const end = text + std::strlen(text);
    const auto [stopped, error] = std::from_chars(text, end, value);
    if (error != std::errc{} || stopped != end || value < T{0}) {
      return Failure(ErrorCode::Invalid, std::string(name) + ": \"" + text + "\" is not a number");
    }
    return {};
  }

 private:
  const EnvironmentLookup& lookup_;
};

}  // namespace

Result<BufferPolicy> policy_named(const std::string& name) {
  for (const auto& [policy, known] : kPolicies) {
    if (name == known) return policy;
  }
  return Failure(ErrorCode::Invalid, "unknown policy \"" + name + "\"");
}

std::vector<std::pair<std::string, std::string>> to_environment(const RunOptions& options) {
  std::vector<std::pair<std::string, std::string>> variables = {
      {kRunOutput, options.output},
      {kRunBudget, std::to_string(options.budget_bytes)},
      {kRunStarted, std::to_string(options.started_ns)},
      {kRunReport, options.report},
  };
  if (!options.execution_trace.empty())
    variables.emplace_back(kRunExecutionTrace, options.execution_trace);
  for (const auto& [policy, name] : kPolicies) {
    if (policy == options.policy) variables.emplace_back(kRunPolicy, name);
  }
  if (const std::string asked = record_text(options.record); !asked.empty())
    variables.emplace_back(kRunAsk, asked);
  if (!options.adapters.empty()) variables.emplace_back(kRunAdapters, join(options.adapters, ':'));
  if (!options.cuda_library.empty()) variables.emplace_back(kRunCuda, options.cuda_library);
  if (options.paused) variables.emplace_back(kRunPaused, "1");
  if (options.on_demand) variables.emplace_back(kRunOnDemand, "1");
  if (options.captures) variables.emplace_back(kRunCaptures, "1");
  if (options.keep_command_line) variables.emplace_back(kRunKeepCommand, "1");
  const std::pair<const char*, std::int64_t> numbers[] = {
      {kRunAfter, options.after_ns},
      {kRunFor, options.for_ns},
      {kRunFromStep, options.from_step},
      {kRunSteps, options.steps},
      {kRunSignalStart, options.signal_start},
      {kRunSignalStop, options.signal_stop},
      {kRunRing, options.dump.ring_ns},
      {kRunDumps, options.dump.most},
      {kRunDumpSignal, options.dump.signal},
      {kRunDumpHang, options.dump.hang_ns},
      {kRunDumpSlowStep, options.dump.slow_step_percent}};
  for (const auto& [name, value] : numbers) {
    if (value != 0) variables.emplace_back(name, std::to_string(value));
  }
  return variables;
}

Result<RunOptions> run_options_from(const EnvironmentLookup& lookup) {
  const Reader reader(lookup);
  RunOptions options;
  if (const char* text = reader.text(kRunOutput)) options.output = text;
  if (const char* text = reader.text(kRunExecutionTrace)) options.execution_trace = text;
  if (const char* text = reader.text(kRunReport)) options.report = text;
  if (const char* text = reader.text(kRunAdapters)) options.adapters = split(text, ':');
  if (const char* text = reader.text(kRunCuda)) options.cuda_library = text;
  options.paused = reader.text(kRunPaused) != nullptr;
  options.on_demand = reader.text(kRunOnDemand) != nullptr;
  options.captures = reader.text(kRunCaptures) != nullptr;
  options.keep_command_line = reader.text(kRunKeepCommand) != nullptr;
  options.follow_children = reader.text(kRunOnlyPid) == nullptr;
  SONDE_TRY_VOID(reader.number(kRunBudget, options.budget_bytes));
  SONDE_TRY_VOID(reader.number(kRunStarted, options.started_ns));
  SONDE_TRY_VOID(reader.number(kRunAfter, options.after_ns));
  SONDE_TRY_VOID(reader.number(kRunFor, options.for_ns));
  SONDE_TRY_VOID(reader.number(kRunFromStep, options.from_step));
  SONDE_TRY_VOID(reader.number(kRunSteps, options.steps));
  SONDE_TRY_VOID(reader.number(kRunSignalStart, options.signal_start));
  SONDE_TRY_VOID(reader.number(kRunSignalStop, options.signal_stop));
  SONDE_TRY_VOID(reader.number(kRunRing, options.dump.ring_ns));
  SONDE_TRY_VOID(reader.number(kRunDumps, options.dump.most));
  SONDE_TRY_VOID(reader.number(kRunDumpSignal, options.dump.signal));
  SONDE_TRY_VOID(reader.number(kRunDumpHang, options.dump.hang_ns));
  SONDE_TRY_VOID(reader.number(kRunDumpSlowStep, options.dump.slow_step_percent));
  if (const char* text = reader.text(kRunPolicy)) {
    SONDE_TRY(options.policy, policy_named(text));
  }
  if (const char* text = reader.text(kRunAsk)) {
    SONDE_TRY(options.record, record_options_from(text));
  }
  return options;
}

}  // namespace sonde
