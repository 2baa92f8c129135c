// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/stream.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "record/recorder.h"

namespace sonde {

using detail::kChunkBytes;

namespace {

constexpr std::uint32_t kMinChunks = 32;
constexpr std::int64_t kYoungNs = 20'000'000;
// How much memory is kept ready ahead of the recording threads: in a young stream, later, and at
// most, which is enough for two threads at full speed for 20 ms.
constexpr std::uint32_t kYoungReadyChunks = (std::uint32_t{128} << 10) / kChunkBytes;
constexpr std::uint32_t kLeastReadyChunks = (std::uint32_t{1} << 20) / kChunkBytes;
constexpr std::uint32_t kReadyChunks = (std::uint32_t{32} << 20) / kChunkBytes;
// In steps, so that threads can use the first chunks early.
constexpr std::uint32_t kPrepareChunks = (std::uint32_t{4} << 20) / kChunkBytes;

}  // namespace

std::uint32_t Stream::chunks_for(std::uint64_t budget_bytes) {
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(budget_bytes / kChunkBytes, kMinChunks, std::uint64_t{1} << 24));
}

Result<void> Stream::choose_arena(std::uint32_t chunk_count, std::uint64_t budget_bytes) {
  const auto found = std::find_if(arenas_.begin(), arenas_.end(), [&](const Arena* arena) {
    return arena->max_chunks() >= chunk_count;
  });
  if (found != arenas_.end()) {
    arena_ = *found;
    return {};
  }
  arena_ = new Arena(chunk_count);
  if (!arena_->reserved()) {
    return Failure(ErrorCode::Io, "cannot reserve address space for a budget of " +
                                      bytes_text(budget_bytes) + "; choose a smaller one");
  }
  arenas_.push_back(arena_);
  return {};
}

Result<void> Stream::start(const SessionOptions& options, const std::string& path) {
  wanted_chunks_ = chunks_for(options.budget_bytes);
  SONDE_TRY_VOID(choose_arena(wanted_chunks_, options.budget_bytes));
  if (review_tick_source()) {
    scope_ticks_ = 0;
    first_anchor_ = {};
  }
  if (scope_ticks_ == 0) scope_ticks_ = detail::measure_scope_ticks();
  if (first_anchor_.ticks == 0) first_anchor_ = take_anchor();
  id_ = (static_cast<std::uint64_t>(::getpid()) << 32) ^ read_ticks();
  why_not_as_wanted_.clear();
  const bool wants_file = options.crash_safe && !path.empty();
  if (!wants_file)
    why_not_as_wanted_ =
        path.empty() ? "the session has no file name" : "crash safety is turned off";
  arena_->open(wants_file ? path : "", wanted_chunks_, id_, why_not_as_wanted_);
  const std::uint32_t chunk_count = arena_->chunk_count();
  pool_.reset(arena_->chunks(), chunk_count, id_,
              detail::held_chunks(arena_->chunks(), chunk_count), &arena_->ledger().losses);
  pool_.set_reserved(arena_->reserved_chunks());
  why_not_larger_.clear();
  ready_chunks_ = kYoungReadyChunks / 2;  // which is doubled at once, as none are ready
  started_ns_ = monotonic_ns();
  has_taken_plenty_ = false;
  is_on_ = true;
  prepare_ahead();
  detail::attach_pool(&pool_);
  return {};
}

void Stream::end() {
  detail::set_recording(false);
  detail::detach_pool();
  arena_->close();
  is_on_ = false;
}

LiveSession* Stream::add_session(const std::string& file_id) {
  for (LiveSession& session : arena_->ledger().sessions) {
    if (session.file_id[0] != 0) continue;
    std::memcpy(session.file_id, file_id.data(), std::min(file_id.size(), sizeof(session.file_id)));
    return &session;
  }
  return nullptr;
}

void Stream::describe(ProcessBlock& process) const {
  process.stream = id_;
  if (!arena_->file_backed()) return;
  const std::filesystem::path live(arena_->live_path());
  std::error_code ignored;
  process.live_name = live.filename().string();
  process.live_path = std::filesystem::absolute(live, ignored).string();
}

bool Stream::is_young() const {
  return is_on_ && monotonic_ns() - started_ns_ < kYoungNs;
}

void Stream::reserve_ahead() {
  std::uint32_t wanted =
      std::min(pool_.fresh_used() + arena_->ahead(ready_chunks_), pool_.chunk_count());
  if (!is_young() && !std::exchange(has_taken_plenty_, true))
    wanted = std::max(wanted, arena_->plenty());
  if (wanted <= pool_.reserved()) return;
  if (arena_->reserve(wanted)) {
    pool_.set_reserved(arena_->reserved_chunks());
  } else if (pool_.fresh_used() == pool_.reserved() && why_not_larger_.empty()) {
    why_not_larger_ = "the disk could not spare more than " +
                      bytes_text(std::uint64_t{pool_.reserved()} * kChunkBytes) +
                      " for the buffers";
  }
}

void Stream::make_ready(std::uint32_t first, std::uint32_t last) {
  // Not those that were held: their threads may have released and taken them meanwhile.
  for (std::uint32_t from = first; from < last;) {
    std::uint32_t to = from;
    while (to < last && !pool_.was_held(to)) ++to;
    arena_->prepare(from, to);
    for (std::uint32_t i = from; i < to; ++i) pool_.offer(i);
    from = to + 1;
  }
}

void Stream::prepare_ahead() {
  reserve_ahead();
  if (pool_.free_count() < ready_chunks_ / 2)
    ready_chunks_ = std::min(2 * ready_chunks_, kReadyChunks);
  if (!is_young()) ready_chunks_ = std::max(ready_chunks_, kLeastReadyChunks);
  while (pool_.free_count() < ready_chunks_) {
    const auto missing = ready_chunks_ - static_cast<std::uint32_t>(pool_.free_count());
    std::uint32_t first = 0;
    const std::uint32_t last = pool_.take_run(std::min(missing, kPrepareChunks), first);
    if (last == first) return;
    make_ready(first, last);
  }
}

}  // namespace sonde
