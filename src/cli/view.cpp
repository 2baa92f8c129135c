// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde view`: the trace in a browser.

#include "cli/view.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/new_file.h"
#include "base/text.h"
#include "cli/progress.h"
#include "sonde/export.h"
#include "sonde/view/trace_page.h"

#if SONDE_HAS_BOOST
#include "serve/browser.h"
#include "serve/server.h"
#include "view/timeline/view_service.h"
#include "view/viewer_parts.h"
#endif

namespace sonde::cli {
namespace {

Result<void> write_page(const ViewCommand& options) {
  SONDE_TRY_VOID(not_onto_itself(options.file, options.output));
  SONDE_TRY(const Trace trace, open_to_answer(options.file, options.open));
  TracePageOptions wanted;
  wanted.at = options.at;
  if (options.most_spans > 0) wanted.most_spans = options.most_spans;
  if (trace.spans().size() > wanted.most_spans)
    say(options.output + ": shows a stretch of " + counted_text(wanted.most_spans, "span") +
        " of " + count_text(trace.spans().size()) + "; --most-spans sets how many");
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

Result<std::string> perfetto_bytes(const Trace& trace) {
  SONDE_TRY(const TemporaryFile file, TemporaryFile::create("sonde-view"));
  SONDE_TRY_VOID(export_perfetto(trace, file.path()));
  return read_file(file.path());
}

// The trace that is shown, replaced when its file has grown.
class Shown {
 public:
  Shown(const ViewCommand& options, const Trace& trace)
      : options_(options),
        state_(state_of(options.file)),
        service_(std::make_shared<detail::ViewService>(trace, options.file)) {}

  detail::Answer answer(std::string_view target, std::string_view body) {
    if (target == "/api/version") return version();
    if (target == "/api/perfetto") return perfetto();
    const std::shared_ptr<const detail::ViewService> service = current();
    detail::ViewAnswer answer = service->answer(target, body);
    return {answer.status, answer.type, std::move(answer.body)};
  }

  // Checks the file now and then, until it is stopped.
  void follow(const std::stop_token& stop) {
    using Clock = std::chrono::steady_clock;
    Clock::duration between = std::chrono::seconds(1);
    std::mutex mutex;
    std::condition_variable_any waiting;
    while (!stop.stop_requested()) {
      std::unique_lock lock(mutex);
      waiting.wait_for(lock, stop, between, [] { return false; });
      if (stop.stop_requested()) return;
      const FileState now = state_of(options_.file);
      if (now == state_) continue;
      state_ = now;
      const Clock::time_point begin = Clock::now();
      if (Result<Trace> trace = open_trace(options_.file, options_.open))
        replace(std::make_shared<detail::ViewService>(*trace, options_.file));
      // Reading a large file again and again must not keep the machine busy.
      between = std::max<Clock::duration>(between, 4 * (Clock::now() - begin));
    }
  }

 private:
  std::shared_ptr<const detail::ViewService> current() {
    const std::lock_guard lock(mutex_);
    return service_;
  }
  void replace(std::shared_ptr<const detail::ViewService> service) {
    const std::lock_guard lock(mutex_);
    service_ = std::move(service);
    ++version_;
  }
  // The trace in Perfetto's format, for its own viewer.
  detail::Answer perfetto() {
    const Result<std::string> bytes = perfetto_bytes(current()->answers().trace());
    if (bytes) return {200, "application/octet-stream", *bytes};
    return {400, "application/json", "{\"error\": " + json_string(bytes.error().message) + "}"};
  }
  detail::Answer version() {
    const std::lock_guard lock(mutex_);
    return {200, "application/json", "{\"version\": " + std::to_string(version_) + "}"};
  }

  const ViewCommand& options_;
  FileState state_;
  std::mutex mutex_;
  std::shared_ptr<const detail::ViewService> service_;
  std::uint64_t version_ = 1;
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

Result<void> serve(const ViewCommand& options, Output& out) {
  SONDE_TRY(const Trace trace, open_to_answer(options.file, options.open));
  std::unique_ptr<Shown> shown;
  {
    const Progress progress("indexing " + options.file);
    shown = std::make_unique<Shown>(options, trace);
  }
  detail::ServerHandlers handlers;
  handlers.page = page_part;
  handlers.is_slow = detail::ViewService::is_slow;
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
