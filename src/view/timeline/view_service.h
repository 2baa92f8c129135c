// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Answers the requests of a page. Knows nothing of sockets: `src/serve` does.
//
//   const ViewService service(trace, "run.sonde");
//   const ViewAnswer answer = service.answer("/api/span?id=7", "");
//
//   /api/trace                          what there is
//   /api/tiles          body: tiles.h   pieces of the timeline
//   /api/names          body: 32-bit    names by number
//   /api/span?id=       all about one span
//   /api/area?from=&to= body: 32-bit    tracks: what happened there, by name
//   /api/search?q=                      spans by name, kind, argument or length
//   /api/curve?id=&from=&to=&n=         values of a curve
//   /api/gaps?id=&from=&to=&n=          why the curve's device idled
//   /api/moment?device=&at=             what was alive in memory then
//   /api/view?name=                     a view beside the timeline
//
// Any thread may call it. No request can do anything but read the trace.

#include <string>
#include <string_view>
#include <vector>

#include "view/timeline/curves.h"
#include "view/timeline/trace_answers.h"

namespace sonde::detail {

struct ViewAnswer {
  int status = 200;  // as in HTTP
  std::string_view type = "application/json";
  std::string body;
};

class ViewService {
 public:
  // As TraceAnswers.
  ViewService(const Trace& trace, std::string name, std::vector<PageView> more = {},
              bool is_job = false);

  ViewAnswer answer(std::string_view target, std::string_view body) const;
  // Whether an answer may take seconds, so that it should not hold up others.
  static bool is_slow(std::string_view target);

  const TraceAnswers& answers() const { return answers_; }

 private:
  TraceAnswers answers_;
  std::vector<Curve> curves_;
  std::string trace_json_;  // made once: it looks at every span
};

}  // namespace sonde::detail
