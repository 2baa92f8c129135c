// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// There is one in each process: it has the open sessions and the drainer, the thread that moves
// what was recorded (collect/stream.h) to their files. It relates the recorder's clock to the
// system's once a second, and ends soon after the last session.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collect/chunk_drain.h"
#include "collect/scheduling.h"
#include "collect/session_state.h"
#include "collect/stream.h"

namespace sonde {

class Collector {
 public:
  static Collector& instance();

  // Makes the buffers ready if no other session has; adds the session.
  Result<void> add(const std::shared_ptr<SessionState>& session);
  void prepare_sources(SessionState& session);
  Result<void> set_metadata(SessionState& session, const std::string& key, const std::string& json);
  Result<void> begin_window(SessionState& session, std::int64_t first_step);
  void end_window(SessionState& session);
  // Ends the window if one is open. The drainer writes the rest; wait_closed() waits for it.
  void finish(SessionState& session);
  void wait_closed(SessionState& session);
  bool is_recording(const SessionState& session);
  int window_count(const SessionState& session);
  Result<void> wait_written(SessionState& session, int window);
  Result<void> snapshot(const std::shared_ptr<SessionState>& session,
                        const SnapshotRequest& request);

  // At the end of the program: finishes all sessions and ends the drainer.
  void finish_all();

 private:
  Collector() = default;
  friend struct ForkHandlers;

  // In snapshot.cpp. The buffers of a pinned session stay.
  Result<SessionState::Window> pin(SessionState& session);
  void unpin(SessionState& session);
  Result<void> write_snapshot(SessionState& session, const SessionState::Window& window,
                              const SnapshotRequest& request, const std::string& path);
  // A ring with a limited time: where its window begins, given its end. At least 0 ns of it.
  std::uint64_t ring_begin(const SessionState::Window& window, std::uint64_t end_ticks,
                           std::int64_t kept_ns) const;
  // After the ring was copied to the file: lets the window begin where nothing was overwritten.
  // Says so if that is later than it should be.
  void narrow_to_ring(RecordingFile& file, const WindowBlock& begin, std::uint64_t end_ticks);
  Result<void> write_facts(SessionState& session, RecordingFile& file);

  // Adds a ledger row to every file of the session.
  static void note(SessionState& session, LedgerKind kind, const std::string& detail);
  // What the open window has lost.
  LiveLosses lost_in_window(const SessionState& session) const;
  Result<void> start_stream(const SessionOptions& options, const std::string& path);
  void end_window_locked(SessionState& session);
  void refresh_flags();
  void start_drainer();
  // Waits until the drainer can go on in any sandbox that the program may enter.
  static void await_drainer();

  // Tells the session's sources what all recording sessions want, with or without this one.
  void tell_sources_locked(SessionState& session, bool with_it);

  // These run on the drainer's thread; in drainer.cpp.
  void run();
  void pass();
  void settle(std::unique_lock<std::mutex>& lock);
  void watch_scheduling(std::int64_t now_ns);
  void write_share(SessionState& session, std::size_t window);
  void give_up();
  void write_ledger(RecordingFile& file, const SessionLosses& lost, std::int64_t drainer_ns);
  void flush_events();
  void distribute(const EventsHead& head, std::span<const std::uint64_t> words,
                  bool is_still_filled);
  void write_ended_ring(SessionState& session, std::size_t index);
  void write_ring(RecordingFile& file, std::uint64_t start_ticks, std::uint64_t end_ticks,
                  bool compress);

  std::mutex sources_;  // held while sources are called; locked before mutex_
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::vector<std::shared_ptr<SessionState>> sessions_;
  std::thread drainer_;
  bool drainer_running_ = false;
  bool urgent_ = false;
  bool quit_ = false;

  Stream stream_;
  std::atomic<std::int64_t> drainer_ns_{0};

  // Used by the drainer alone.
  ChunkDrain drain_;
  std::vector<std::uint8_t> encoded_;
  std::uint64_t pass_ticks_ = 0;
  std::int64_t last_partial_ns_ = 0;
  std::int64_t last_anchor_ns_ = 0;
  std::int64_t anchor_interval_ns_ = 0;
  std::int64_t last_rotation_ns_ = 0;
  std::int64_t last_look_ns_ = 0;  // at the program's threads
  std::uint32_t last_fresh_ = 0;
  SchedulingWatch scheduling_;
  std::int64_t last_scheduling_ns_ = 0;
};

}  // namespace sonde
