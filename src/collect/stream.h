// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The buffers that threads record into while a session is open: memory for chunks, which thread has
// which chunk, and the numbers that relate them to this process and its clock.
//
//   SONDE_TRY_VOID(stream.start(options, "train.sonde"));   // threads may record from here on
//   stream.prepare_ahead();                                 // again and again
//   stream.end();

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "collect/arena.h"
#include "collect/session.h"
#include "record/pool.h"
#include "sonde/result.h"
#include "wire/blocks.h"

namespace sonde {

class Stream {
 public:
  // The number of chunks that fit into a budget.
  static std::uint32_t chunks_for(std::uint64_t budget_bytes);

  // `path` is the output file. The live file is created beside it.
  Result<void> start(const SessionOptions& options, const std::string& path);
  void end();
  bool is_on() const { return is_on_; }

  std::uint64_t id() const { return id_; }
  detail::Pool& pool() { return pool_; }
  const detail::Pool& pool() const { return pool_; }
  // The number of chunks that was asked for; there may be fewer.
  std::uint32_t wanted_chunks() const { return wanted_chunks_; }
  // Whether the chunks survive a kill.
  bool is_crash_safe() const { return arena_->file_backed(); }
  // Why they do not, or why there are fewer than requested.
  const std::string& why_not_as_wanted() const { return why_not_as_wanted_; }
  // Fills in the stream's number and where its live file is.
  void describe(ProcessBlock& process) const;

  // A slot for a session's losses where a kill leaves them readable; null if there are too many
  // sessions. The slot is free again once it is all zeros.
  LiveSession* add_session(const std::string& file_id);

  // When this process first recorded, and the cost of a scope at that time.
  const ClockAnchor& first_anchor() const { return first_anchor_; }
  std::uint64_t scope_ticks() const { return scope_ticks_; }

  // Reserves blocks and faults memory in ahead of the recording threads, so that they take no page
  // fault. It begins with little and takes more if threads use it or the stream is no longer young,
  // because most programs end soon.
  void prepare_ahead();
  // Whether it began so recently that the program may end at once. Look after it often.
  bool is_young() const;
  // Why the buffers did not become as large as they could; empty if nobody needed them to.
  const std::string& why_not_larger() const { return why_not_larger_; }

 private:
  Result<void> choose_arena(std::uint32_t chunk_count, std::uint64_t budget_bytes);
  void reserve_ahead();
  void make_ready(std::uint32_t first, std::uint32_t last);

  bool is_on_ = false;
  std::int64_t started_ns_ = 0;
  std::uint64_t id_ = 0;
  detail::Pool pool_;
  Arena* arena_ = nullptr;
  std::vector<Arena*> arenas_;  // never freed, see Arena
  std::uint32_t wanted_chunks_ = 0;
  std::string why_not_as_wanted_;
  std::string why_not_larger_;
  bool has_taken_plenty_ = false;
  std::uint32_t ready_chunks_ = 0;  // how many are kept free for threads
  std::uint64_t scope_ticks_ = 0;
  ClockAnchor first_anchor_;
};

}  // namespace sonde
