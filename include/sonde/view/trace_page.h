// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A trace as a web page: timeline, tables, flame graph and memory in one file, which needs no
// network and no server.
//
//   SONDE_TRY_VOID(save_trace_page(trace, "run.html", "run.sonde"));
//
// `sonde view` shows the same page from a server, for traces of any size (docs/viewer.md).

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

// A view that is not of the page's own trace: "ranks" with what job_view() of sonde/view/job_page.h
// gives, or "compare" with the JSON of `sonde diff`.
struct PageView {
  std::string name;
  std::string json;
};

struct TracePageOptions {
  // A page with more spans gets large: a stretch of time with so many is cut out, and the page says
  // so. Tables and findings are of the whole trace.
  std::size_t most_spans = 1'000'000;
  // Where that stretch begins, since the start of the trace.
  Nanos from_ns = 0;
  // What the page shows first, such as "view=memory": the text that its "Copy link" gives.
  std::string at = "";
  std::vector<PageView> more_views = {};
  // The trace has the ranks of a job (trace/join.h): the page shows the timeline of all, and no
  // views that are about one process.
  bool is_job = false;
};

// `name` is what the page calls the trace, such as its file; it and all names in the trace may
// contain anything. Fails only for lack of memory.
Result<std::string> trace_page(const Trace& trace, std::string_view name,
                               const TracePageOptions& options = {});
// The same as a file, which appears complete or not at all.
Result<void> save_trace_page(const Trace& trace, const std::string& path, std::string_view name,
                             const TracePageOptions& options = {});

// A page with this view alone.
Result<std::string> view_page(PageView view, std::string_view name);

}  // namespace sonde
