// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde view`: the trace in a browser.

#include "cli/answer/view.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "base/text.h"
#include "cli/answer/shown_traces.h"
#include "cli/compare/diff.h"
#include "cli/job/job.h"
#include "cli/print/progress.h"
#include "sonde/view/trace_page.h"

#if SONDE_HAS_BOOST
#include "serve/browser.h"
#include "serve/server.h"
#include "view/viewer_parts.h"
#endif

namespace sonde::cli {
namespace {

// What a page shows: a trace, or the ranks of a job as one, or one of them at a time.
struct Contents {
  std::vector<TraceSource> sources;  // the first is shown first
  std::vector<PageView> views;       // that are not of one trace
};

void show_ranks(const ViewCommand& options, JobPageView job, Contents& shown) {
  std::vector<std::string> files = {options.file};
  files.insert(files.end(), options.more.begin(), options.more.end());
  // A folder or a pattern becomes the files of its ranks.
  if (names_a_job(options.file)) {
    files.clear();
    for (const JobTrace& one : job.traces) files.push_back(one.path);
  }
  if (job.traces.size() > 1 && fit_together(job.traces)) {
    shown.sources.push_back(of_job(job.traces, options.open));
  } else if (job.traces.size() > 1) {
    say("the traces of all ranks are too large for one timeline; the page shows one rank at a "
        "time");
  }
  for (const std::string& file : files) shown.sources.push_back(of_file(file, options.open));
  shown.views.push_back(std::move(job.view));
}

Result<Contents> what_to_show(const ViewCommand& options) {
  Contents shown;
  if (names_a_job(options.file) || !options.more.empty()) {
    std::vector<std::string> files = {options.file};
    files.insert(files.end(), options.more.begin(), options.more.end());
    const Progress progress("comparing ranks");
    SONDE_TRY(JobPageView job, job_view_of(files, options.open));
    show_ranks(options, std::move(job), shown);
  } else {
    shown.sources.push_back(of_file(options.file, options.open));
  }
  if (!options.against.empty()) {
    const Progress progress("comparing runs");
    SONDE_TRY(const std::vector<RunSummary> base, read_runs(options.against, options.open));
    const auto one = std::find_if(shown.sources.begin(), shown.sources.end(),
                                  [](const TraceSource& source) { return !source.is_job; });
    SONDE_TRY(const std::vector<RunSummary> now, read_runs(one->files, options.open));
    auto changes = compare_runs(base, now, {});
    if (shown.sources.size() > 1)
      changes.warnings.insert(changes.warnings.begin(),
                              "Of the ranks, this compares " + one->name + ".");
    shown.views.push_back(diff_view(changes));
  }
  return shown;
}

Result<Trace> open_first(const Contents& shown, const OpenOptions& open) {
  const TraceSource& first = shown.sources.front();
  if (!first.is_job) return open_to_answer(first.files.front(), open);
  const Progress progress("opening " + counted_text(first.files.size(), "trace"));
  return first.open();
}

Result<void> write_page(const ViewCommand& options) {
  SONDE_TRY_VOID(not_onto_itself(options.file, options.output));
  for (const std::string& file : options.more)
    SONDE_TRY_VOID(not_onto_itself(file, options.output));
  SONDE_TRY(Contents shown, what_to_show(options));
  SONDE_TRY(const Trace trace, open_first(shown, options.open));
  const TraceSource& first = shown.sources.front();
  TracePageOptions wanted;
  wanted.at = options.at;
  wanted.more_views = std::move(shown.views);
  wanted.is_job = first.is_job;
  if (options.most_spans > 0) wanted.most_spans = options.most_spans;
  if (trace.spans().size() > wanted.most_spans)
    say(options.output + ": shows " + counted_text(wanted.most_spans, "span") + " of " +
        count_text(trace.spans().size()) + "; --most-spans sets how many");
  const Progress progress("writing " + options.output);
  return save_trace_page(trace, options.output, first.name, wanted);
}

#if SONDE_HAS_BOOST

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
  SONDE_TRY(Contents what, what_to_show(options));
  SONDE_TRY(const Trace trace, open_first(what, options.open));
  ShownTraces shown(std::move(what.sources), what.views, options.against);
  {
    const Progress progress("indexing " + options.file);
    shown.show_first(trace);
  }
  detail::ServerHandlers handlers;
  handlers.page = page_part;
  handlers.is_slow = [&](std::string_view target) { return shown.is_slow(target); };
  handlers.api = [&](std::string_view target, std::string_view body) {
    detail::ViewAnswer answer = shown.answer(target, body);
    return detail::Answer{answer.status, answer.type, std::move(answer.body)};
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
  const std::jthread follower([&](const std::stop_token& stop) { shown.follow(stop); });
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
