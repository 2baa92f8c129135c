// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/files.h"

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "decode/recording_blocks.h"

namespace sonde::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReplaced = ": was replaced by another recording";

// The fields of a process in /proc, from its state on; empty if there is no such process.
std::vector<std::string> stat_fields(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(") ");  // the name before it may contain anything
  if (name_end == std::string::npos) return {};
  std::istringstream rest(text.substr(name_end + 2));
  return {std::istream_iterator<std::string>(rest), {}};
}

// A process that has ended but was not waited for, as happens in containers, still has its number.
// A process that began before `sonde run` is not ours: in another PID namespace the number belongs
// to another process.
bool has_not_ended(std::int64_t pid, std::int64_t run_pid) {
  constexpr std::size_t kStartTime = 19;
  if (::kill(static_cast<pid_t>(pid), 0) != 0) return false;
  const std::vector<std::string> fields = stat_fields(std::to_string(pid));
  const std::vector<std::string> ours = stat_fields(std::to_string(run_pid));
  if (fields.size() <= kStartTime || ours.size() <= kStartTime) return true;
  return fields[0] != "Z" && std::stoull(fields[kStartTime]) >= std::stoull(ours[kStartTime]);
}

}  // namespace

std::string shown(const std::string& path) {
  std::error_code ignored;
  const std::string below = fs::path(path).lexically_relative(fs::current_path(ignored)).string();
  return below.empty() || below.rfind("..", 0) == 0 ? fs::path(path).lexically_normal().string()
                                                    : below;
}

void remove_recording(const BlockFile& file) {
  std::error_code ignored;
  remove_live_file(file);
  fs::remove(file.name(), ignored);
}

Result<BlockFile> own_file(const ReportEntry& entry) {
  SONDE_TRY(BlockFile file, BlockFile::open(entry.text));
  if (file.id() == entry.file_id) return file;
  return Failure(ErrorCode::NotFound, shown(entry.text) + kReplaced);
}

bool runs(std::int64_t pid, std::int64_t run_pid) {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries && has_not_ended(pid, run_pid); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return has_not_ended(pid, run_pid);
}

bool is_replaced(const Error& error) {
  return error.message.ends_with(kReplaced);
}

bool is_there(const ReportEntry& entry) {
  std::error_code ignored;
  if (!fs::exists(entry.text, ignored)) return false;
  const auto file = own_file(entry);
  return file || !is_replaced(file.error());
}

}  // namespace sonde::cli
