// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// One a process: owns the buffers while some session is open, and runs the drainer, the thread that
// moves full buffers to the sessions' files, keeps memory ready ahead of the recording threads and
// ties the clock to the system's once a second. Sleeps while there is nothing to do.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collect/arena.h"
#include "collect/recording_file.h"
#include "collect/session.h"
#include "collect/sources.h"
#include "record/recorder.h"

namespace sonde {

// A session as the collector sees it. All but `file` is guarded by the collector's mutex.
struct SessionState {
  struct Window {
    std::uint64_t start_ticks = 0;
    std::uint64_t end_ticks = 0;  // 0 while open
    std::int64_t first_step = 0;
    bool written = false;  // all its events are in the file
  };

  SessionOptions options;
  std::string path;
  std::unique_ptr<RecordingFile> file;
  ActiveSources sources;
  std::vector<Window> windows;
  bool closing = false;
  bool closed = false;
  int pins = 0;                   // snapshots under way: the buffers must stay
  std::uint64_t kept_bytes = 0;   // BufferPolicy::Drop: how much of the budget is spent
  std::uint64_t kept_until = 0;   // the last ticks of what was kept, in this budget
  std::uint64_t spent_ticks = 0;  // where it was spent, and what is kept ends; 0: it is not
  std::uint64_t dropped = 0;      // records beyond it
  std::uint64_t overwritten = 0;  // records, in closed windows
  std::uint64_t chunks_lost = 0;
  detail::LossCounts losses;  // in closed windows
  detail::LossCounts losses_at_begin;
  std::uint64_t overwritten_at_begin = 0;
  std::int64_t drainer_ns_at_open = 0;

  bool recording() const { return !windows.empty() && windows.back().end_ticks == 0; }
  bool all_written() const {
    for (const Window& w : windows) {
      if (!w.written) return false;
    }
    return true;
  }
};

class Collector {
 public:
  static Collector& instance();

  // Makes the buffers ready if no other session has; adds the session.
  Result<void> add(const std::shared_ptr<SessionState>& session);
  // Failures of sources are added to `failures`.
  void prepare_sources(SessionState& session, std::vector<std::string>& failures);
  Result<void> begin_window(SessionState& session, std::int64_t first_step);
  void end_window(SessionState& session);
  // Ends the window if one is open and lets the drainer write the rest; wait_closed() waits for it.
  void finish(SessionState& session);
  void wait_closed(SessionState& session);
  bool is_recording(const SessionState& session);
  int window_count(const SessionState& session);
  Result<void> wait_written(SessionState& session, int window);
  Result<void> snapshot(const std::shared_ptr<SessionState>& session, const std::string& path);

  // At the end of the program: finishes all sessions and ends the drainer.
  void finish_all();

 private:
  // How much memory is kept ready ahead of the recording threads: 20 ms of two of them flat out.
  static constexpr std::uint32_t kReadyChunks = (std::uint32_t{32} << 20) / detail::kChunkBytes;

  Collector() = default;
  friend struct ForkHandlers;

  Result<void> write_snapshot(SessionState& session, const std::string& path);

  Result<void> start_stream(const SessionOptions& options, const std::string& path);
  void end_stream();
  void end_window_locked(SessionState& session);
  void refresh_flags();
  void start_drainer();

  // Tells the session's sources what all that record want, with this one or without it.
  void tell_sources_locked(SessionState& session, bool with_it);

  // On the drainer's thread; in drainer.cpp.
  void run();
  void pass();
  void settle(std::unique_lock<std::mutex>& lock);
  void write_ledger(SessionState& session);
  void prepare_ahead();
  bool drain_full_chunks();  // false if some that were full could not be had
  void drain_live_chunks();
  void flush_events();
  void drain_chunk(detail::ChunkHeader* chunk);
  void distribute(const EventsHead& head, std::span<const std::uint64_t> words);
  void write_ring(RecordingFile& file, std::uint64_t start_ticks, std::uint64_t end_ticks,
                  bool compress);

  std::mutex sources_;  // held while sources are told anything: before mutex_, if both
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::vector<std::shared_ptr<SessionState>> sessions_;
  std::thread drainer_;
  bool drainer_running_ = false;
  bool urgent_ = false;
  bool quit_ = false;

  bool stream_on_ = false;
  std::uint64_t stream_ = 0;
  detail::Pool pool_;
  Arena* arena_ = nullptr;
  std::vector<Arena*> arenas_;  // never freed, see Arena
  std::string not_crash_safe_;  // why, if so
  std::uint64_t scope_ticks_ = 0;
  ClockAnchor first_anchor_;  // when this process first recorded
  std::atomic<std::int64_t> drainer_ns_{0};

  // The drainer's own.
  struct Drained {
    std::uint64_t thread = 0;
    std::uint64_t sequence = 0;
    std::uint32_t offset = 0;
  };
  std::vector<Drained> drained_;  // how far each chunk is in the files
  std::vector<std::uint64_t> words_;
  std::vector<std::uint8_t> encoded_;
  std::uint64_t pass_ticks_ = 0;
  std::int64_t last_partial_ns_ = 0;
  std::int64_t last_anchor_ns_ = 0;
  std::int64_t anchor_interval_ns_ = 0;
  std::int64_t last_rotation_ns_ = 0;
  std::uint32_t last_fresh_ = 0;
};

}  // namespace sonde
