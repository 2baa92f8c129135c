// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde view`: the trace in a browser.

#include "cli/view.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/new_file.h"
#include "base/readable.h"
#include "base/text.h"
#include "cli/diff.h"
#include "cli/job.h"
#include "cli/progress.h"
#include "sonde/export.h"
#include "sonde/trace/part.h"
#include "sonde/view/trace_page.h"

#if SONDE_HAS_BOOST
#include "serve/browser.h"
#include "serve/server.h"
#include "view/timeline/view_service.h"
#include "view/viewer_parts.h"
#endif

namespace sonde::cli {
namespace {

// The ranks of a job side by side, and what changed since other runs. A folder or a pattern becomes
// the files of its ranks.
Result<std::vector<PageView>> views_of_several(ViewCommand& options) {
  std::vector<PageView> views;
  const bool is_job = names_a_job(options.file);
  if (is_job || !options.more.empty()) {
    std::vector<std::string> files = {options.file};
    files.insert(files.end(), options.more.begin(), options.more.end());
    const Progress progress("comparing ranks");
    SONDE_TRY(JobPageView ranks, job_view_of(files, options.open));
    if (is_job) {
      options.file = ranks.files.front();
      options.more.assign(ranks.files.begin() + 1, ranks.files.end());
    }
    views.push_back(std::move(ranks.view));
  }
  if (!options.against.empty()) {
    const Progress progress("comparing runs");
    SONDE_TRY(const std::vector<RunSummary> base, read_runs(options.against, options.open));
    SONDE_TRY(const std::vector<RunSummary> now, read_runs({options.file}, options.open));
    views.push_back(diff_view(compare_runs(base, now, {})));
  }
  return views;
}

Result<void> write_page(ViewCommand options) {
  SONDE_TRY_VOID(not_onto_itself(options.file, options.output));
  TracePageOptions wanted;
  wanted.at = options.at;
  SONDE_TRY(wanted.more_views, views_of_several(options));
  SONDE_TRY(const Trace trace, open_to_answer(options.file, options.open));
  if (options.most_spans > 0) wanted.most_spans = options.most_spans;
  if (trace.spans().size() > wanted.most_spans)
    say(options.output + ": shows " + counted_text(wanted.most_spans, "span") + " of " +
        count_text(trace.spans().size()) + "; --most-spans sets how many");
  if (!options.more.empty())
    say(options.output + ": the timeline shows " + options.file +
        "; of the other ranks it has the comparison");
  const Progress progress("writing " + options.output);
  return save_trace_page(trace, options.output, options.file, wanted);
}

#if SONDE_HAS_BOOST

struct FileState {
  std::uintmax_t bytes = 0;
  std::filesystem::file_time_type changed;
  friend bool operator==(const FileState&, const FileState&) = default;
};

FileState state_of(const std::string& path) {
  std::error_code ignored;
  FileState state;
  state.bytes = std::filesystem::file_size(path, ignored);
  state.changed = std::filesystem::last_write_time(path, ignored);
  return state;
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

// One of the traces that are shown, opened when it is first asked for and replaced when its file
// has grown.
class Shown {
 public:
  Shown(const ViewCommand& options, std::string file, std::vector<PageView> more)
      : options_(options), file_(std::move(file)), more_(std::move(more)) {}

  void show(const Trace& trace) {
    const FileState state = state_of(file_);
    replace(std::make_shared<detail::ViewService>(trace, file_, more_), state);
  }
  bool is_open() {
    const std::lock_guard lock(mutex_);
    return service_ != nullptr;
  }

  detail::Answer answer(std::string_view target, std::string_view body) {
    if (target.starts_with("/api/version")) return version();
    const Result<void> opened = open();
    if (!opened) return failed(opened.error().message);
    const std::shared_ptr<const detail::ViewService> service = current();
    if (target.starts_with("/api/perfetto")) return perfetto(*service, target);
    detail::ViewAnswer answer = service->answer(target, body);
    return {answer.status, answer.type, std::move(answer.body)};
  }

  // Reads the file again if it has changed.
  void refresh() {
    const FileState now = state_of(file_);
    {
      const std::lock_guard lock(mutex_);
      if (service_ == nullptr || now == state_) return;
      state_ = now;
    }
    if (const Result<Trace> trace = open_trace(file_, options_.open))
      replace(std::make_shared<detail::ViewService>(*trace, file_, more_), now);
  }

 private:
  Result<void> open() {
    const std::lock_guard lock(opening_);
    if (is_open()) return {};
    SONDE_TRY(const Trace trace, open_trace(file_, options_.open));
    show(trace);
    return {};
  }
  std::shared_ptr<const detail::ViewService> current() {
    const std::lock_guard lock(mutex_);
    return service_;
  }
  void replace(std::shared_ptr<const detail::ViewService> service, const FileState& state) {
    const std::lock_guard lock(mutex_);
    state_ = state;
    if (service_ != nullptr) ++version_;
    service_ = std::move(service);
  }
  static detail::Answer failed(const std::string& message) {
    return {400, "application/json", "{\"error\": " + json_string(message) + "}"};
  }
  // The trace or a stretch of it in Perfetto's format, for its own viewer.
  static detail::Answer perfetto(const detail::ViewService& service, std::string_view target) {
    TracePart part;
    part.from_ns = number_in(target, "from");
    part.to_ns = number_in(target, "to");
    Result<std::string> bytes = perfetto_bytes(service.answers().trace(), part);
    if (!bytes) return failed(bytes.error().message);
    return {200, "application/octet-stream", *std::move(bytes)};
  }
  detail::Answer version() {
    const std::lock_guard lock(mutex_);
    return {200, "application/json", "{\"version\": " + std::to_string(version_) + "}"};
  }

  const ViewCommand& options_;
  const std::string file_;
  const std::vector<PageView> more_;
  FileState state_;
  std::mutex opening_;
  std::mutex mutex_;
  std::shared_ptr<const detail::ViewService> service_;
  std::uint64_t version_ = 0;  // how often the trace was replaced
};

// All traces of the command. Requests say which they mean: of=1 is the second.
class AllShown {
 public:
  AllShown(const ViewCommand& options, const Trace& first, const std::vector<PageView>& more)
      : files_({options.file}) {
    files_.insert(files_.end(), options.more.begin(), options.more.end());
    for (const std::string& file : files_)
      shown_.push_back(std::make_unique<Shown>(options, file, more));
    shown_.front()->show(first);
  }

  detail::Answer answer(std::string_view target, std::string_view body) {
    if (target == "/api/files") return files();
    const std::size_t of = place(target);
    if (of < shown_.size()) return shown_[of]->answer(target, body);
    return {404, "application/json", "{\"error\": \"there is no such trace\"}"};
  }
  bool is_slow(std::string_view target) {
    const std::size_t of = place(target);
    return detail::ViewService::is_slow(target) || (of < shown_.size() && !shown_[of]->is_open());
  }

  // Checks the files now and then, until it is stopped.
  void follow(const std::stop_token& stop) {
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

 private:
  static std::size_t place(std::string_view target) {
    return static_cast<std::size_t>(number_in(target, "of").value_or(0));
  }
  detail::Answer files() const {
    std::string list;
    for (const std::string& file : files_)
      list += (list.empty() ? "" : ", ") + json_string(readable_line(file));
    return {200, "application/json", "{\"files\": [" + list + "]}"};
  }

  std::vector<std::string> files_;
  std::vector<std::unique_ptr<Shown>> shown_;
};

detail::Answer page_part(std::string_view target) {
  if (target == "/viewer.js")
    return {200, "text/javascript; charset=utf-8", detail::viewer_script()};
  if (target == "/viewer.css") return {200, "text/css; charset=utf-8", detail::viewer_style()};
  return {200, "text/html; charset=utf-8", detail::viewer_page()};
}

void print_address(const detail::ViewServer& server, const std::string& address, Output& out) {
  out.line("Open " + address);
  if (std::getenv("SSH_CONNECTION") != nullptr) {
    const std::string port = std::to_string(server.port());
    out.line("From your own machine, forward the port first: ssh -L " + port +
             ":127.0.0.1:" + port + " HOST");
  }
  out.line("Press Ctrl-C to end.");
  (void)out.finish();
}

Result<void> serve(ViewCommand options, Output& out) {
  SONDE_TRY(const std::vector<PageView> more, views_of_several(options));
  SONDE_TRY(const Trace trace, open_to_answer(options.file, options.open));
  std::unique_ptr<AllShown> shown;
  {
    const Progress progress("indexing " + options.file);
    shown = std::make_unique<AllShown>(options, trace, more);
  }
  detail::ServerHandlers handlers;
  handlers.page = page_part;
  handlers.is_slow = [&](std::string_view target) { return shown->is_slow(target); };
  handlers.api = [&](std::string_view target, std::string_view body) {
    return shown->answer(target, body);
  };
  SONDE_TRY(const std::unique_ptr<detail::ViewServer> server,
            detail::ViewServer::start(std::move(handlers), options.port));
  std::string address = server->address() + "#token=" + server->token();
  if (!options.at.empty()) address += "&" + options.at;
  print_address(*server, address, out);
  Result<detail::BrowserFile> file = detail::BrowserFile::create(address);
  const bool open_it = options.browser && detail::has_desktop() && file.has_value();
  if (open_it && !detail::open_in_browser(file->path()))
    say("no program to open a browser was found (xdg-open); open the address above");
  const std::jthread follower([&](const std::stop_token& stop) { shown->follow(stop); });
  server->run();
  return {};
}

#else

Result<void> serve(const ViewCommand&, Output&) {
  return Failure(ErrorCode::Unsupported,
                 "this Sonde was built without a server (libboost1.81-dev); write a page with -o "
                 "FILE.html instead");
}

#endif

}  // namespace

Result<void> check(const ViewCommand& options) {
  if (options.output.empty() || options.output.ends_with(".html")) return {};
  return Failure(ErrorCode::Invalid, options.output + ": the name of a page must end in .html");
}

Result<void> run_view(const ViewCommand& options, Output& out) {
  return options.output.empty() ? serve(options, out) : write_page(options);
}

}  // namespace sonde::cli
