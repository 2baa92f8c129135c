// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/what_if.h"

#include <fnmatch.h>

#include <algorithm>

#include "analyse/simulate/program.h"
#include "analyse/time/whole_steps.h"
#include "base/median.h"
#include "base/sum.h"

namespace sonde {
namespace {

using detail::Changes;
using detail::Program;

class WhatIfMaker {
 public:
  WhatIfMaker(const Trace& trace, const WhatIf& wanted)
      : trace_(trace),
        wanted_(wanted),
        calls_(trace),
        program_(trace, calls_),
        changes_(program_) {}

  WhatIfAnswer make() {
    for (const WhatIf::Scale& one : wanted_.scale) apply(one.pattern, one.factor);
    for (const std::string& pattern : wanted_.remove) apply(pattern, 0);
    if (wanted_.no_sync) changes_.no_waits();
    const detail::Replay before = replay(program_.graph());
    const detail::Replay after = program_.replayed(changes_);
    out_.waits = calls_.waits().size();
    out_.recorded_ns = program_.recorded_ns();
    out_.simulated_ns = program_.length_ns(after);
    out_.recorded_step_ns = median_step_ns(before);
    out_.simulated_step_ns = median_step_ns(after);
    return std::move(out_);
  }

 private:
  std::vector<bool> matching_names(const std::string& pattern) const {
    std::vector<bool> by_name(trace_.strings().size());
    for (std::size_t i = 0; i < by_name.size(); ++i)
      by_name[i] =
          fnmatch(pattern.c_str(), std::string(trace_.string(StringId(i))).c_str(), 0) == 0;
    return by_name;
  }

  void apply(const std::string& pattern, double factor) {
    WhatIfAnswer::Match match{pattern, 0, 0};
    const std::vector<bool> by_name = matching_names(pattern);
    TrackId track;
    Nanos done_ns = 0;  // until where the last match of this thread lasts
    for (const SpanId span : trace_.all_spans()) {
      const StringId name = trace_.spans().name[span];
      if (!name.valid() || !by_name[name.index()]) continue;
      const bool is_work = is_device_work(trace_.spans().kind[span]);
      const TrackId of = trace_.spans().track[span];
      const bool is_thread = of.valid() && trace_.tracks().kind[of] == TrackKind::Thread;
      if (!is_work && !is_thread) continue;
      if (is_thread && of == track && trace_.end_ns(span) <= done_ns) continue;
      ++match.spans;
      detail::add_to(match.time_ns, trace_.spans().duration_ns[span]);
      if (is_work) {
        changes_.scale(span, factor);
      } else {
        changes_.scale_call(span, factor);
        done_ns = of == track ? std::max(done_ns, trace_.end_ns(span)) : trace_.end_ns(span);
        track = of;
      }
    }
    out_.matches.push_back(std::move(match));
  }

  Nanos median_step_ns(const detail::Replay& times) const {
    std::vector<Nanos> lengths;
    for (const SpanId span : detail::whole_steps(trace_)) {
      const TrackId thread = trace_.spans().track[span];
      if (!thread.valid()) continue;
      lengths.push_back(program_.time_ns(times, thread, trace_.end_ns(span)) -
                        program_.time_ns(times, thread, trace_.spans().start_ns[span]));
    }
    return median(lengths);
  }

  const Trace& trace_;
  const WhatIf& wanted_;
  const detail::HostCalls calls_;
  const Program program_;
  Changes changes_;
  WhatIfAnswer out_;
};

}  // namespace

WhatIfAnswer what_if(const Trace& trace, const WhatIf& changes) {
  return WhatIfMaker(trace, changes).make();
}

}  // namespace sonde
