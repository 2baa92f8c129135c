// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/trigger.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "base/format.h"
#include "base/text.h"
#include "cli/run/dynolog.h"
#include "cli/run/values.h"

namespace sonde::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Programs ask every five seconds; one that has not asked after six does not.
constexpr milliseconds kOnceAround{6000};
// Programs take this long besides to start, to stop and to write.
constexpr milliseconds kToWrite{60'000};
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kDefaultDuration = 500 * kMillisecond;

bool is_wanted(const TriggerCommand& command, const DaemonRequest& request) {
  if (command.job != 0 && command.job != request.job) return false;
  return command.pids.empty() ||
         std::any_of(command.pids.begin(), command.pids.end(), [&](std::int32_t pid) {
           return std::find(request.pids.begin(), request.pids.end(), pid) != request.pids.end();
         });
}

std::int64_t duration_of(const TriggerCommand& command) {
  return command.duration.empty() ? kDefaultDuration : *parse_duration(command.duration);
}

std::string file_of(const std::string& file, std::int32_t pid) {
  return file.substr(0, file.size() - std::string_view(".json").size()) + "_" +
         std::to_string(pid) + ".json";
}

// Answers until every wanted program has asked once, or the time is over. Returns their pids.
std::set<std::int32_t> answer_programs(DaemonSocket& socket, const TriggerCommand& command,
                                       const std::string& configuration) {
  std::set<std::int32_t> triggered;
  Clock::time_point end = Clock::now() + milliseconds(*parse_duration(command.wait) / kMillisecond);
  bool is_first = true;
  while (Clock::now() < end) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    if (!socket.wait(static_cast<int>(std::max<std::int64_t>(1, left.count())))) continue;
    const auto received = socket.receive();
    const auto request = received ? parse_daemon_request(received->message) : std::nullopt;
    if (!request) continue;
    const bool is_new = !request->is_announcement && is_wanted(command, *request) &&
                        triggered.insert(request->pids.front()).second;
    // Who does not take it asks again.
    socket.send(daemon_answer(*request, is_new ? configuration : std::string_view()),
                received->from);
    if (is_new && is_first) end = std::min(end, Clock::now() + kOnceAround);
    is_first &= !is_new;
    if (!command.pids.empty() && triggered.size() >= command.pids.size()) break;
  }
  return triggered;
}

// Whole once its size has stayed the same for a second.
bool wait_for_file(const std::string& path, Clock::time_point until) {
  std::error_code error;
  std::uintmax_t before = 0;
  while (Clock::now() < until) {
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error && size > 0 && size == before) return true;
    before = error ? 0 : size;
    std::this_thread::sleep_for(milliseconds(1000));
  }
  return false;
}

Result<void> collect_files(const std::set<std::int32_t>& pids, const std::string& file,
                           const TriggerCommand& command, Output& out) {
  const Clock::time_point until =
      Clock::now() + kToWrite + milliseconds(duration_of(command) / kMillisecond);
  std::string missing;
  for (const std::int32_t pid : pids) {
    if (wait_for_file(file_of(file, pid), until)) {
      out.line(file_of(file, pid));
    } else {
      missing += " " + std::to_string(pid);
    }
  }
  if (missing.empty()) return {};
  return Failure(ErrorCode::NotFound,
                 "these processes were asked to record but wrote nothing:" + missing +
                     (command.steps > 0 ? "; do they call the profiler's step()?" : ""));
}

// The traces of an earlier call stay: "trace.json", or else "trace-2.json" and so on.
std::string free_name(const std::filesystem::path& folder) {
  std::set<std::string> taken;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    taken.insert(name.substr(0, name.find('_')));
  }
  std::string name = "trace";
  for (int number = 2; taken.contains(name); ++number) name = "trace-" + std::to_string(number);
  return (folder / (name + ".json")).string();
}

Result<void> trigger_through_daemon(const TriggerCommand& command, const std::string& configuration,
                                    const std::string& file, Output& out) {
  SONDE_TRY(const std::string answer, ask_running_daemon(configuration, command.job, command.pids));
  const std::optional<std::set<std::int32_t>> pids = triggered_by_daemon(answer);
  if (!pids) {
    out.line("A dynolog daemon runs on this machine and took the request. Its answer: " + answer);
    return {};
  }
  if (pids->empty())
    return Failure(
        ErrorCode::NotFound,
        "the dynolog daemon on this machine triggered no program; its answer: " + answer);
  return collect_files(*pids, file, command, out);
}

}  // namespace

Result<void> check(const TriggerCommand& command) {
  if (!command.duration.empty() && command.steps > 0)
    return Failure(ErrorCode::Invalid, "give either --for or --steps");
  for (const std::string& text : {command.duration, command.wait}) {
    if (text.empty()) continue;
    if (const Result<std::int64_t> parsed = parse_duration(text); !parsed)
      return Failure(parsed.error());
  }
  if (command.folder.find_first_of("\n\r") != std::string::npos)
    return Failure(ErrorCode::Invalid, "a folder's name cannot contain line breaks");
  return {};
}

std::string trigger_configuration(const TriggerCommand& command, const std::string& file) {
  std::string text = "ACTIVITIES_LOG_FILE=" + file + "\n";
  if (command.steps > 0) {
    text += format_text(
        "PROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP=1\n"
        "ACTIVITIES_ITERATIONS={}\n",
        command.steps);
  } else {
    text += format_text("PROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS={}\n",
                        std::max<std::int64_t>(1, duration_of(command) / kMillisecond));
  }
  const auto add = [&](bool wanted, const char* key) {
    if (wanted) text += std::string(key) + "=true\n";
  };
  add(command.shapes, "PROFILE_REPORT_INPUT_SHAPES");
  add(command.memory, "PROFILE_PROFILE_MEMORY");
  add(command.stack, "PROFILE_WITH_STACK");
  add(command.flops, "PROFILE_WITH_FLOPS");
  add(command.modules, "PROFILE_WITH_MODULES");
  return text;
}

Result<void> run_trigger(const TriggerCommand& command, Output& out) {
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(command.folder, error);
  const std::filesystem::path folder = std::filesystem::absolute(command.folder, error);
  if (!std::filesystem::is_directory(folder, error))
    return Failure(ErrorCode::Io, command.folder + ": cannot create this folder");
  const std::string file = free_name(folder.lexically_normal());
  const std::string configuration = trigger_configuration(command, file);
  Result<DaemonSocket> socket = DaemonSocket::open(kDaemonName);
  if (!socket && socket.error().code == ErrorCode::NotFound)
    return trigger_through_daemon(command, configuration, file, out);
  if (!socket) return Failure(socket.error());
  const std::set<std::int32_t> pids = answer_programs(*socket, command, configuration);
  if (pids.empty() && is_new) std::filesystem::remove(folder, error);
  if (pids.empty())
    return Failure(ErrorCode::NotFound,
                   "no program asked within " + command.wait +
                       "; start it with KINETO_USE_DAEMON=1 in its environment, or by `sonde run "
                       "--on-demand`, as this user");
  return collect_files(pids, file, command, out);
}

}  // namespace sonde::cli
