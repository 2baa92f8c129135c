// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/gather_ring.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "decode/live_buffers.h"
#include "decode/losses.h"
#include "decode/recording_blocks.h"
#include "decode/ring_reach.h"
#include "wire/codec.h"

namespace sonde {
namespace {

constexpr std::size_t kGatheredBlockBytes = std::size_t{256} << 10;

std::uint64_t last_ticks_of(const Piece& piece) {
  std::uint64_t last = piece.words[0];
  for (std::size_t i = 0; i < piece.words.size(); i += 1 + detail::payload_words(piece.words[i]))
    last = piece.words[i];
  return full_ticks(last, piece.head.base_ticks);
}

class RingGatherer {
 public:
  RingGatherer(const BlockFile& file, const Recording& told, LiveBuffers live, BlockWriter& writer)
      : file_(file), told_(told), live_(std::move(live)), writer_(writer) {}

  Result<void> gather(std::int64_t last_ns) {
    SONDE_TRY_VOID(copy_blocks());
    for (const auto& dictionary : live_.dictionaries)
      SONDE_TRY_VOID(writer_.append(BlockKind::Dictionary, dictionary, true));
    find_begin(last_ns);
    SONDE_TRY_VOID(write_windows());
    SONDE_TRY_VOID(write_events());
    SONDE_TRY_VOID(write_losses());
    return writer_.seal();
  }

 private:
  template <typename Item>
  Result<void> append(BlockKind kind, const Item& item) {
    ByteWriter out;
    item.write(out);
    return writer_.append(kind, out.bytes(), false);
  }

  // All but the windows; it no longer has live buffers.
  Result<void> copy_blocks() {
    ProcessBlock process = told_.process;
    process.live_name.clear();
    process.live_path.clear();
    SONDE_TRY_VOID(append(BlockKind::Process, process));
    std::vector<std::uint8_t> scratch;
    for (const BlockFile::Block& block : file_.blocks()) {
      if (block.kind == BlockKind::Windows || block.kind == BlockKind::Process) continue;
      const auto payload = file_.payload(block, scratch);
      if (payload) SONDE_TRY_VOID(writer_.append(block.kind, *payload, block.compressed));
    }
    return {};
  }

  void find_begin(std::int64_t last_ns) {
    RingReach reach;
    for (const Piece& piece : live_.pieces) {
      const std::uint64_t last = last_ticks_of(piece);
      end_ = std::max(end_, last);
      reach.add(piece.head.thread, piece.head.sequence, last);
    }
    const std::uint64_t start = told_.windows.rbegin()->second.first.ticks;
    const double rate = std::max(TickMap(told_.anchors).ns_per_tick(), 1e-6);
    const double kept = static_cast<double>(last_ns) / rate;
    begin_ = end_ > start && kept < static_cast<double>(end_ - start)
                 ? end_ - static_cast<std::uint64_t>(kept)
                 : start;
    const auto lost = live_.lost_by(file_.id());
    if (!lost || lost->in_buffers.overwritten == 0) return;
    const std::uint64_t complete_from = reach.complete_from(end_);
    if (complete_from <= begin_) return;
    note_ = ring_too_small(static_cast<double>(end_ - complete_from) * rate,
                           static_cast<double>(end_ - begin_) * rate);
    begin_ = complete_from;
  }

  // A ring has only the window that was open.
  Result<void> write_windows() {
    WindowBlock window = told_.windows.rbegin()->second.first;
    window.ticks = begin_;
    SONDE_TRY_VOID(append(BlockKind::Windows, window));
    window.is_end = 1;
    window.ticks = std::max(begin_, end_);
    return append(BlockKind::Windows, window);
  }

  Result<void> write_events() {
    std::vector<std::uint8_t> pending;
    std::vector<std::uint8_t> encoded;
    for (const Piece& piece : live_.pieces) {
      if (last_ticks_of(piece) < begin_) continue;
      encoded.clear();
      encode_events(piece.head, piece.words, encoded);
      const auto size = static_cast<std::uint32_t>(encoded.size());
      const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&size);
      pending.insert(pending.end(), bytes, bytes + sizeof(size));
      pending.insert(pending.end(), encoded.begin(), encoded.end());
      if (pending.size() < kGatheredBlockBytes) continue;
      SONDE_TRY_VOID(writer_.append(BlockKind::Events, pending, true));
      pending.clear();
    }
    return pending.empty() ? Result<void>() : writer_.append(BlockKind::Events, pending, true);
  }

  Result<void> write_losses() {
    Result<void> written;
    const auto note = [&](LedgerKind kind, std::uint64_t count, const std::string& detail) {
      if (count > 0 && written)
        written = append(BlockKind::Ledger,
                         LedgerBlock{static_cast<std::uint8_t>(kind), count, "collect", detail});
    };
    if (auto lost = live_.lost_by(file_.id())) {
      lost->in_buffers.overwritten = 0;  // the window begins after that
      for_each_loss(lost->in_buffers, lost->dropped, note);
    }
    if (!note_.empty()) note(LedgerKind::Note, 1, note_);
    return written;
  }

  const BlockFile& file_;
  const Recording& told_;
  LiveBuffers live_;
  BlockWriter& writer_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::string note_;
};

}  // namespace

Result<bool> gather_ring(const BlockFile& file, std::int64_t last_ns, const std::string& path) {
  std::optional<Result<LiveBuffers>> live = find_live_buffers(file);
  if (!live) return Failure(ErrorCode::NotFound, file.name() + ": has no live buffers");
  if (!*live) return Failure(live->error());
  Recording told;
  read_blocks(file, told, BlockChoice::Counted);
  if (told.windows.empty() || (*live)->pieces.empty()) return false;
  const auto gather = [&](const std::string& at) -> Result<void> {
    SONDE_TRY(BlockWriter writer, BlockWriter::create(at));
    SONDE_TRY_VOID(RingGatherer(file, told, std::move(**live), writer).gather(last_ns));
    writer.release();
    return {};
  };
  SONDE_TRY_VOID(write_replacing(path, gather));
  return true;
}

}  // namespace sonde
