// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/answer/shown_traces.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/new_file.h"
#include "base/readable.h"
#include "sonde/export.h"
#include "sonde/trace/join.h"
#include "sonde/trace/part.h"

namespace sonde::cli {
namespace {

constexpr std::uintmax_t kMostBytesTogether = std::uintmax_t{4} << 30;
constexpr std::uintmax_t kUnpacked = 8;  // a packed file's bytes, as a multiple

struct FileState {
  std::uintmax_t bytes = 0;
  std::filesystem::file_time_type changed;
  friend bool operator==(const FileState&, const FileState&) = default;
};

std::vector<FileState> states_of(const std::vector<std::string>& paths) {
  std::vector<FileState> out;
  for (const std::string& path : paths) {
    std::error_code ignored;
    out.push_back({std::filesystem::file_size(path, ignored),
                   std::filesystem::last_write_time(path, ignored)});
  }
  return out;
}

Result<std::string> perfetto_bytes(const Trace& trace, const TracePart& part) {
  SONDE_TRY(const TemporaryFile file, TemporaryFile::create("sonde-view"));
  if (part.is_all()) {
    SONDE_TRY_VOID(export_perfetto(trace, file.path()));
  } else {
    SONDE_TRY(const Trace some, part_of(trace, part));
    SONDE_TRY_VOID(export_perfetto(some, file.path()));
  }
  return read_file(file.path());
}

// The number after "KEY=" in what follows the question mark.
std::optional<Nanos> number_in(std::string_view target, std::string_view key) {
  std::size_t at = target.find('?');
  while (at != std::string_view::npos) {
    std::string_view rest = target.substr(at + 1);
    if (rest.starts_with(key) && rest.substr(key.size()).starts_with('=')) {
      rest.remove_prefix(key.size() + 1);
      Nanos value = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      if (error == std::errc() && end != rest.data() && value >= 0) return value;
      return std::nullopt;
    }
    at = target.find('&', at + 1);
  }
  return std::nullopt;
}

std::size_t place_in(std::string_view target) {
  return static_cast<std::size_t>(number_in(target, "of").value_or(0));
}

std::string text_list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts)
    list += (list.empty() ? "" : ", ") + json_string(readable_line(text));
  return "[" + list + "]";
}

}  // namespace

TraceSource of_file(const std::string& file, const OpenOptions& open) {
  return {file, {file}, [file, open] { return open_trace(file, open); }, false};
}

TraceSource of_job(const std::vector<JobTrace>& ranks, const OpenOptions& open) {
  TraceSource out;
  out.name = "All ranks (" + std::to_string(ranks.size()) + ")";
  for (const JobTrace& one : ranks) out.files.push_back(one.path);
  out.open = [ranks, open]() -> Result<Trace> {
    TraceJoin join;
    for (const JobTrace& one : ranks) {
      SONDE_TRY(const Trace trace, open_trace(one.path, open));
      join.add(trace, {one.rank, one.clock});
    }
    return std::move(join).build();
  };
  out.is_job = true;
  return out;
}

bool fit_together(const std::vector<JobTrace>& ranks) {
  std::uintmax_t bytes = 0;
  for (const JobTrace& one : ranks) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(one.path, error);
    if (!error) bytes += size * (one.path.ends_with(".gz") ? kUnpacked : 1);
  }
  return bytes <= kMostBytesTogether;
}

class ShownTraces::Shown {
 public:
  Shown(TraceSource source, std::vector<PageView> views)
      : source_(std::move(source)), views_(std::move(views)) {}

  const TraceSource& source() const { return source_; }
  void show(const Trace& trace) { replace(trace, states_of(source_.files)); }
  bool is_open() {
    const std::lock_guard lock(mutex_);
    return service_ != nullptr;
  }

  detail::ViewAnswer answer(std::string_view target, std::string_view body) {
    if (target.starts_with("/api/version")) return version();
    const Result<void> opened = open();
    if (!opened) return failed(opened.error().message);
    const std::shared_ptr<const detail::ViewService> service = current();
    if (target.starts_with("/api/perfetto")) return perfetto(*service, target);
    return service->answer(target, body);
  }

  // Reads the files again if one of them has changed.
  void refresh() {
    std::vector<FileState> now = states_of(source_.files);
    {
      const std::lock_guard lock(mutex_);
      if (service_ == nullptr || now == states_) return;
      states_ = now;
    }
    if (const Result<Trace> trace = source_.open()) replace(*trace, std::move(now));
  }

 private:
  Result<void> open() {
    const std::lock_guard lock(opening_);
    if (is_open()) return {};
    SONDE_TRY(const Trace trace, source_.open());
    show(trace);
    return {};
  }
  std::shared_ptr<const detail::ViewService> current() {
    const std::lock_guard lock(mutex_);
    return service_;
  }
  void replace(const Trace& trace, std::vector<FileState> states) {
    auto service =
        std::make_shared<detail::ViewService>(trace, source_.name, views_, source_.is_job);
    const std::lock_guard lock(mutex_);
    states_ = std::move(states);
    if (service_ != nullptr) ++version_;
    service_ = std::move(service);
  }
  static detail::ViewAnswer failed(const std::string& message) {
    return {400, "application/json", "{\"error\": " + json_string(message) + "}"};
  }
  // The trace or a stretch of it in Perfetto's format, for its own viewer.
  static detail::ViewAnswer perfetto(const detail::ViewService& service, std::string_view target) {
    TracePart part;
    part.from_ns = number_in(target, "from");
    part.to_ns = number_in(target, "to");
    Result<std::string> bytes = perfetto_bytes(service.answers().trace(), part);
    if (!bytes) return failed(bytes.error().message);
    return {200, "application/octet-stream", *std::move(bytes)};
  }
  detail::ViewAnswer version() {
    const std::lock_guard lock(mutex_);
    return {200, "application/json", "{\"version\": " + std::to_string(version_) + "}"};
  }

  const TraceSource source_;
  const std::vector<PageView> views_;
  std::vector<FileState> states_;
  std::mutex opening_;
  std::mutex mutex_;
  std::shared_ptr<const detail::ViewService> service_;
  std::uint64_t version_ = 0;  // how often the trace was replaced
};

ShownTraces::ShownTraces(std::vector<TraceSource> sources, const std::vector<PageView>& views,
                         std::vector<std::string> against)
    : against_(std::move(against)) {
  for (TraceSource& source : sources)
    shown_.push_back(std::make_unique<Shown>(std::move(source), views));
}
ShownTraces::~ShownTraces() = default;

void ShownTraces::show_first(const Trace& trace) {
  shown_.front()->show(trace);
}

detail::ViewAnswer ShownTraces::answer(std::string_view target, std::string_view body) {
  if (target == "/api/files") {
    // What can be chosen, and what a command would name.
    std::vector<std::string> names;
    std::vector<std::string> files;
    for (const std::unique_ptr<Shown>& one : shown_) {
      names.push_back(one->source().name);
      if (!one->source().is_job) files.push_back(one->source().name);
    }
    return {200, "application/json",
            "{\"traces\": " + text_list(names) + ", \"files\": " + text_list(files) +
                ", \"against\": " + text_list(against_) + "}"};
  }
  const std::size_t of = place_in(target);
  if (of < shown_.size()) return shown_[of]->answer(target, body);
  return {404, "application/json", "{\"error\": \"there is no such trace\"}"};
}

bool ShownTraces::is_slow(std::string_view target) {
  const std::size_t of = place_in(target);
  return detail::ViewService::is_slow(target) || (of < shown_.size() && !shown_[of]->is_open());
}

void ShownTraces::follow(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  constexpr Clock::duration kBetweenLooks = std::chrono::seconds(1);
  Clock::duration between = kBetweenLooks;
  std::mutex mutex;
  std::condition_variable_any waiting;
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex);
    waiting.wait_for(lock, stop, between, [] { return false; });
    if (stop.stop_requested()) return;
    const Clock::time_point begin = Clock::now();
    for (const std::unique_ptr<Shown>& one : shown_) one->refresh();
    // Reading a large file again and again must not keep the machine busy.
    between = std::max<Clock::duration>(kBetweenLooks, 4 * (Clock::now() - begin));
  }
}

}  // namespace sonde::cli
