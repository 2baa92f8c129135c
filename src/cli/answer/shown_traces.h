// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The traces that `sonde view` serves: each is opened when it is first asked for, and read again
// when its files change.
//
//   ShownTraces shown({of_file("a.sonde", open)}, views);
//   const detail::ViewAnswer answer = shown.answer("/api/trace", "");
//
// Requests say which they mean: of=1 is the second. Any thread may ask.

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cli/job/job.h"
#include "sonde/open.h"
#include "sonde/view/trace_page.h"
#include "view/timeline/view_service.h"

namespace sonde::cli {

struct TraceSource {
  std::string name;                // what the page calls it
  std::vector<std::string> files;  // that it is read from
  std::function<Result<Trace>()> open;
  bool is_job = false;  // several ranks as one trace
};
TraceSource of_file(const std::string& file, const OpenOptions& open);
// All ranks on the job's clock.
TraceSource of_job(const std::vector<JobTrace>& ranks, const OpenOptions& open);
// Whether all of them are small enough to be open at the same time.
bool fit_together(const std::vector<JobTrace>& ranks);

class ShownTraces {
 public:
  // `views` are those that are not of one trace; `against` the files that one of them compares
  // with.
  ShownTraces(std::vector<TraceSource> sources, const std::vector<PageView>& views,
              std::vector<std::string> against = {});
  ~ShownTraces();

  // Shows a trace that is open already in place of the first.
  void show_first(const Trace& trace);
  detail::ViewAnswer answer(std::string_view target, std::string_view body);
  // Whether the answer may take seconds.
  bool is_slow(std::string_view target);
  // Checks the files now and then, until it is stopped.
  void follow(const std::stop_token& stop);

 private:
  class Shown;
  std::vector<std::unique_ptr<Shown>> shown_;
  const std::vector<std::string> against_;
};

}  // namespace sonde::cli
