// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A session as the collector keeps it: its file, its windows, what it lost, and what its files say
// besides events.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collect/recording_file.h"
#include "collect/session.h"
#include "collect/sources.h"
#include "wire/blocks.h"
#include "wire/live_file.h"

namespace sonde {

// Records that did not get into a file.
struct SessionLosses {
  std::uint64_t dropped = 0;  // beyond the budget of BufferPolicy::Drop
  LiveLosses in_buffers;
};

// What a file says of its session besides windows and events: the session's own file when it comes
// up, a snapshot at once.
struct SessionFacts {
  ProcessBlock process;
  std::vector<std::pair<LedgerKind, std::string>> ledger;     // rows that count 1
  std::vector<std::pair<std::string, std::string>> metadata;  // keys and their JSON, each key once
};

// All but `file` and `unserved` is guarded by the collector's mutex.
struct SessionState {
  struct Window {
    std::uint64_t start_ticks = 0;
    std::uint64_t end_ticks = 0;  // 0 while open
    std::int64_t first_step = 0;
    bool written = false;  // all its events are in the file
  };

  SessionOptions options;
  std::string path;
  std::vector<std::string> unserved;  // set when it is opened
  std::unique_ptr<RecordingFile> file;
  ActiveSources sources;
  std::vector<Window> windows;
  bool closing = false;
  bool closed = false;
  int pins = 0;                   // snapshots under way: the buffers must stay
  std::uint64_t kept_bytes = 0;   // BufferPolicy::Drop: how much of the budget is spent
  std::uint64_t kept_until = 0;   // the last ticks of what was kept, in this budget
  std::uint64_t spent_ticks = 0;  // where it was spent, and what is kept ends; 0: it is not
  SessionFacts facts;
  SessionLosses losses;         // in closed windows
  LiveLosses lost_at_begin;     // by all, when the window began
  LiveSession* live = nullptr;  // the same for a reader after a kill
  std::int64_t drainer_ns_at_open = 0;

  bool recording() const { return !windows.empty() && windows.back().end_ticks == 0; }
  bool all_written() const {
    for (const Window& w : windows) {
      if (!w.written) return false;
    }
    return true;
  }
};

}  // namespace sonde
