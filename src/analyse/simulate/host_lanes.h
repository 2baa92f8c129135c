// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The threads of a trace as stints of work: where one stint ends and the next begins, and where a
// thread waited.
//
//   |--- stint ---|--- stint ---|   hole: waits   |--- stint ---|
//                 launch        wait begins       wait ends
//
// A stint is time in which the thread ran, inside or outside operators. A hole is time in which it
// waited for a device or for another thread.

#include <cstdint>
#include <vector>

#include "analyse/time/coverage.h"
#include "analyse/time/host_calls.h"
#include "sonde/trace.h"

namespace sonde::detail {

struct HostHole {
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  SpanId call;  // that waited for a device; invalid: it waited for a thread
};

struct HostStint {
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  bool is_after_hole = false;
  SpanId call;  // of that hole
};

// One thread waited for another, from when it had nothing to do until the other had finished.
struct Handover {
  TrackId waiting;
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  TrackId working;
  Nanos worked_until_ns = 0;
};
// A thread began to work because another one had nothing more to do.
struct Wakeup {
  TrackId woken;
  Nanos begin_ns = 0;
  TrackId by;
  Nanos by_ns = 0;
};

// An interval in which a thread ran no operator.
struct IdleGap {
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  Nanos busy_ns = 0;  // of other threads
  TrackId last;       // the thread that worked last in it
  Nanos last_ns = 0;
  bool is_backward = false;  // that one computed gradients, and nothing before or after the gap
};

class HostLanes {
 public:
  HostLanes(const Trace& trace, const HostCalls& calls);

  // The thread of a process that the others work for: the one with steps, else the one with most
  // operators. Invalid: the process has no thread with spans.
  TrackId main_of(ProcessId process) const;
  const std::vector<TrackId>& mains() const noexcept {
    return mains_;
  }  // by process; may be invalid
  // The stints of a thread, in time order.
  std::vector<HostStint> stints(TrackId thread) const;
  const std::vector<HostHole>& holes(TrackId thread) const { return lanes_[thread.index()].holes; }
  const std::vector<Handover>& handovers() const noexcept { return handovers_; }
  const std::vector<Wakeup>& wakeups() const noexcept { return wakeups_; }

  // Ends a stint at that time.
  void cut(TrackId thread, Nanos time_ns) { lanes_[thread.index()].cuts.push_back(time_ns); }
  // Call it after the last cut().
  void finish();

 private:
  struct Lane {
    bool has_spans = false;
    bool has_gradients = false;
    Nanos begin_ns = 0;
    Nanos end_ns = 0;
    std::vector<Nanos> cuts;
    std::vector<HostHole> holes;
    Coverage busy;  // in operators and calls; in any span where the trace has neither
  };

  struct Busy {
    TrackId thread;
    std::vector<Coverage::Stretch> stretches;
  };

  void look_at_threads(bool only_operators);
  void find_mains();
  void find_handovers(ProcessId process, TrackId main);
  void find_idle(TrackId thread);
  std::vector<Busy> busy_threads(ProcessId process) const;
  void find_workers(const std::vector<Busy>& threads, TrackId waiting, std::vector<IdleGap>& gaps);
  void add_waits(const HostCalls& calls);
  void sort_holes();

  const Trace& trace_;
  std::vector<Lane> lanes_;  // by track; those of other tracks stay empty
  std::vector<TrackId> mains_;
  std::vector<Handover> handovers_;
  std::vector<Wakeup> wakeups_;
};

}  // namespace sonde::detail
