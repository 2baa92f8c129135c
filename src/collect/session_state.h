// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A session from the collector's point of view: its file, its windows, its losses, and what else
// its files contain.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collect/recording_file.h"
#include "collect/scheduling.h"
#include "collect/session.h"
#include "collect/sources.h"
#include "wire/blocks.h"
#include "wire/live_file.h"

namespace sonde {

// Records that reached no file.
struct SessionLosses {
  std::uint64_t dropped = 0;  // beyond the budget of BufferPolicy::Drop
  LiveLosses in_buffers;
};

// What a file says about its session besides windows and events. The session's own file gets it
// when it becomes known, a snapshot all at once.
struct SessionFacts {
  ProcessBlock process;
  std::vector<std::pair<LedgerKind, std::string>> ledger;     // rows with a count of 1
  std::vector<std::pair<std::string, std::string>> metadata;  // keys and their JSON, each key once
};

// The collector's mutex guards everything except `file` and `unserved`.
struct SessionState {
  struct Window {
    std::uint64_t start_ticks = 0;
    std::int64_t start_ns = 0;
    std::uint64_t end_ticks = 0;  // 0 while open
    std::int64_t first_step = 0;
    bool written = false;  // the file has all its events
    // How much processor time the program had received soon after it began. Used by the drainer.
    std::optional<ProcessorShare> share_at_begin;

    bool awaits_writing() const { return end_ticks != 0 && !written; }
  };

  SessionOptions options;
  std::string path;
  std::vector<std::string> unserved;  // set when it is opened
  std::unique_ptr<RecordingFile> file;
  ActiveSources sources;
  std::vector<Window> windows;
  bool closing = false;
  bool closed = false;
  int pins = 0;                   // running snapshots: the buffers must stay
  std::uint64_t kept_bytes = 0;   // BufferPolicy::Drop: the part of the budget that is used
  std::uint64_t kept_until = 0;   // the last ticks that were kept within this budget
  std::uint64_t spent_ticks = 0;  // when the budget was used up and recording ended; 0: not yet
  SessionFacts facts;
  SessionLosses losses;         // in windows that have ended
  LiveLosses lost_at_begin;     // the stream's losses when the window began
  LiveSession* live = nullptr;  // the same, where a kill leaves it readable
  std::int64_t drainer_ns_at_open = 0;
  ProcessorShare share;  // in windows that have ended

  bool recording() const { return !windows.empty() && windows.back().end_ticks == 0; }
  // Also while a later window is open.
  bool awaits_writing() const {
    return std::any_of(windows.begin(), windows.end(),
                       [](const Window& window) { return window.awaits_writing(); });
  }
  bool all_written() const {
    for (const Window& w : windows) {
      if (!w.written) return false;
    }
    return true;
  }
};

}  // namespace sonde
