// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/report.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/file.h"
#include "base/new_file.h"
#include "base/own_process.h"
#include "collect/output_name.h"

namespace sonde {
namespace {

constexpr std::array<std::string_view, 8> kKinds = {
    "recording", "adapter", "error", "execution_trace", "claim", "dump", "steps", "demand"};

// As the run log has it: one field of a line.
std::string field_of(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return text;
}

// The run log, locked against other processes while this lives.
class LockedReport {
 public:
  explicit LockedReport(const std::string& path)
      : fd_(path.empty() || is_in_sandbox() ? -1
                                            : ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC)) {
    while (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~LockedReport() {
    if (fd_ >= 0) ::close(fd_);  // and unlocks
  }
  LockedReport(const LockedReport&) = delete;
  LockedReport& operator=(const LockedReport&) = delete;

  void add(ReportKind kind, const std::string& text, const std::string& file_id = "") const {
    if (fd_ < 0) return;
    const std::string line = std::string(kKinds[static_cast<std::size_t>(kind)]) + '\t' +
                             std::to_string(::getpid()) + '\t' + field_of(text) +
                             (file_id.empty() ? "" : '\t' + file_id) + '\n';
    const ssize_t written = write_some(fd_, line.data(), line.size());
    static_cast<void>(written);
  }

 private:
  int fd_;
};

bool parse_line(std::string_view line, ReportEntry& entry) {
  const std::size_t first = line.find('\t');
  const std::size_t second = first == std::string_view::npos ? first : line.find('\t', first + 1);
  if (second == std::string_view::npos) return false;
  const auto* const kind = std::find(kKinds.begin(), kKinds.end(), line.substr(0, first));
  const std::string_view pid = line.substr(first + 1, second - first - 1);
  const auto parsed = std::from_chars(pid.data(), pid.data() + pid.size(), entry.pid);
  if (kind == kKinds.end() || parsed.ec != std::errc{}) return false;
  entry.kind = static_cast<ReportKind>(kind - kKinds.begin());
  const std::string_view rest = line.substr(second + 1);
  const std::size_t third = rest.find('\t');
  entry.text = rest.substr(0, third);
  if (third != std::string_view::npos) entry.file_id = rest.substr(third + 1);
  return true;
}

// Whether a process has claimed the path. Not by parsing all lines: a run may have thousands of
// processes, and each asks.
bool is_claimed(std::string_view log, const std::string& path) {
  constexpr std::string_view kClaim = "claim\t";
  static_assert(kKinds[static_cast<std::size_t>(ReportKind::Claim)] == "claim");
  const std::string field = '\t' + field_of(path) + '\n';
  for (std::size_t at = log.find(field); at != std::string_view::npos;
       at = log.find(field, at + 1)) {
    const std::size_t line = log.rfind('\n', at) + 1;  // npos + 1 is 0
    if (log.substr(line).starts_with(kClaim)) return true;
  }
  return false;
}

}  // namespace

void add_to_report(const std::string& report, ReportKind kind, const std::string& text,
                   const std::string& file_id) {
  LockedReport(report).add(kind, text, file_id);
}

Result<std::vector<ReportEntry>> read_report(const std::string& report) {
  SONDE_TRY(const std::string text, read_file(report));
  std::vector<ReportEntry> entries;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    ReportEntry entry;
    if (parse_line(rest.substr(0, end), entry)) entries.push_back(std::move(entry));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return entries;
}

std::string before_suffix(const std::string& path, const std::string& inserted) {
  const std::size_t name = path.rfind('/') + 1;  // npos + 1 is 0
  const std::size_t dot = path.rfind('.');
  std::size_t at = dot != std::string::npos && dot > name ? dot : path.size();
  for (const std::string_view suffix : {".et.json.gz", ".json.gz", ".et.json"}) {
    if (path.size() - name <= suffix.size() || !path.ends_with(suffix)) continue;
    at = path.size() - suffix.size();
    break;
  }
  std::string result = path;
  result.insert(at, "." + inserted);
  return result;
}

std::string dump_path(const std::string& recording, std::int64_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, 3 - std::min<std::size_t>(digits.size(), 3), '0');
  return before_suffix(recording, digits);
}

Result<std::string> claim_output(const std::string& report, const std::string& pattern) {
  const LockedReport lock(report);
  std::string log;
  if (auto known = read_file(report)) log = *std::move(known);
  const bool tells_apart = pattern.find("{pid}") != std::string::npos;
  const std::string apart = tells_apart ? pattern : before_suffix(pattern, "{pid}");
  std::string free = pattern;
  for (int attempt = 1;; ++attempt) {
    SONDE_TRY(const std::string path, fill_output_name(free));
    if (!is_claimed(log, path)) {
      lock.add(ReportKind::Claim, path);
      return free;
    }
    free = attempt == 1 && !tells_apart ? apart : before_suffix(apart, std::to_string(attempt + 1));
  }
}

}  // namespace sonde
