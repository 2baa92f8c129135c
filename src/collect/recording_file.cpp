// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/recording_file.h"

#include <algorithm>

#include "record/dictionary.h"
#include "trace/known_names.h"
#include "wire/dictionary.h"

namespace sonde {
namespace {

// Large enough that blocks are few, small enough to be written and read in parallel.
constexpr std::size_t kEventsBlockBytes = std::size_t{256} << 10;
constexpr std::size_t kRememberedBlocks = 64;
constexpr std::size_t kStepsPerBlock = 4096;
constexpr std::size_t kMarksPerBlock = 1024;
// Enough for ledger, index and trailer of all but the longest recordings.
constexpr std::uint64_t kRoomForTheEnd = std::uint64_t{64} << 10;

}  // namespace

Result<std::unique_ptr<RecordingFile>> RecordingFile::create(const std::string& path) {
  SONDE_TRY(BlockWriter writer, BlockWriter::create(path));
  return std::unique_ptr<RecordingFile>(new RecordingFile(std::move(writer)));
}

bool RecordingFile::append(BlockKind kind, std::span<const std::uint8_t> payload, bool compress) {
  if (sealed_) return false;
  auto written = writer_.append(kind, payload, compress);
  if (!written) note_failure(written.error());
  return written.has_value();
}

void RecordingFile::note_failure(const Error& error) {
  if (!first_error_) first_error_ = error;
  has_failed_ = true;
}

void RecordingFile::add_process(const ProcessBlock& process) {
  ByteWriter out;
  process.write(out);
  const std::lock_guard guard(mutex_);
  append(BlockKind::Process, out.bytes(), false);
}

void RecordingFile::add_anchor(const ClockAnchor& anchor) {
  ByteWriter out;
  AnchorBlock{anchor}.write(out);
  const std::lock_guard guard(mutex_);
  append(BlockKind::Anchors, out.bytes(), false);
}

void RecordingFile::add_window(const WindowBlock& window) {
  ByteWriter out;
  window.write(out);
  const std::lock_guard guard(mutex_);
  repeated_.emplace_back(BlockKind::Windows, std::vector(out.bytes().begin(), out.bytes().end()));
  append(BlockKind::Windows, out.bytes(), false);
  tally_.window(window);
}

Result<void> RecordingFile::add_metadata(const std::string& key, const std::string& json) {
  ByteWriter out;
  MetadataBlock{key, json}.write(out);
  const std::lock_guard guard(mutex_);
  if (sealed_)
    return Failure(ErrorCode::Invalid, "metadata \"" + key + "\": the session is closed");
  return writer_.append(BlockKind::Metadata, out.bytes(), true);
}

void RecordingFile::add_ledger(LedgerKind kind, std::uint64_t count, const std::string& source,
                               const std::string& detail) {
  ByteWriter out;
  LedgerBlock{static_cast<std::uint8_t>(kind), count, source, detail}.write(out);
  const std::lock_guard guard(mutex_);
  // Facts that are written only once, when a session begins, must stay.
  if (block_records_.empty())
    repeated_.emplace_back(BlockKind::Ledger, std::vector(out.bytes().begin(), out.bytes().end()));
  append(BlockKind::Ledger, out.bytes(), false);
}

void RecordingFile::keep_only(std::vector<std::int64_t> thread_ids,
                              std::vector<std::string> thread_names) {
  const std::lock_guard guard(mutex_);
  only_ids_ = std::move(thread_ids);
  only_names_ = std::move(thread_names);
}

bool RecordingFile::keeps(std::uint64_t thread) const {
  if (only_ids_.empty() && only_names_.empty()) return true;
  const auto known = kept_threads_.find(thread);
  return known != kept_threads_.end() && known->second;
}

void RecordingFile::sync_dictionary() {
  const std::lock_guard guard(mutex_);
  sync_dictionary_locked();
}

// Where the file stays full, each try must cost little: it takes one block.
void RecordingFile::sync_dictionary_locked() {
  note_dictionary();
  std::vector<std::uint8_t> fresh;
  for (;;) {
    const std::uint64_t end = detail::dictionary().copy_since(dictionary_bytes_, fresh);
    if (fresh.empty() || !append(BlockKind::Dictionary, fresh, true)) return;
    dictionary_bytes_ = end;
  }
}

// Also where the file is full: which threads are kept must be known.
void RecordingFile::note_dictionary() {
  std::vector<std::uint8_t> fresh;
  for (;;) {
    const std::uint64_t end = detail::dictionary().copy_since(noted_bytes_, fresh);
    if (fresh.empty()) return;
    read_dictionary(fresh, [&](const DictionaryEntry& entry) {
      if (entry.kind != DictionaryKind::Thread) return note_name(entry);
      threads_[entry.id] = {entry.number, std::string(entry.name)};
      bool& kept = kept_threads_[entry.id];
      kept = kept ||
             std::find(only_ids_.begin(), only_ids_.end(),
                       static_cast<std::int64_t>(entry.number)) != only_ids_.end() ||
             std::find(only_names_.begin(), only_names_.end(), entry.name) != only_names_.end();
    });
    noted_bytes_ = end;
  }
}

// What the counts need to know of a name.
void RecordingFile::note_name(const DictionaryEntry& entry) {
  if (entry.kind == DictionaryKind::Place) return;
  if (entry.is_cut) tally_.count_cut_name();
  if (const std::int64_t step = step_number(entry.name); step >= 0)
    tally_.name_step(entry.id, step);
}

void RecordingFile::add_events(const Piece& piece, bool compress) {
  const std::lock_guard guard(mutex_);
  note_dictionary();
  if (!keeps(piece.head.thread)) return;
  const auto size = static_cast<std::uint32_t>(piece.encoded.size());
  // Takes all of it or nothing, even if memory runs out.
  if (const std::size_t needed = pending_.size() + sizeof(size) + piece.encoded.size();
      needed > pending_.capacity())
    pending_.reserve(std::max(needed, 2 * pending_.capacity()));
  const auto* size_bytes = reinterpret_cast<const std::uint8_t*>(&size);
  pending_.insert(pending_.end(), size_bytes, size_bytes + sizeof(size));
  pending_.insert(pending_.end(), piece.encoded.begin(), piece.encoded.end());
  pending_records_ += piece.records;
  const RecordingTally::Place place{events_blocks_, pending_pieces_++};
  count([&] { tally_.add(piece.head, piece.words, piece.is_still_filled, place); });
  pending_compress_ = compress;
  if (pending_.size() >= kEventsBlockBytes) flush_events_locked();
}

void RecordingFile::flush_events() {
  const std::lock_guard guard(mutex_);
  flush_events_locked();
}

void RecordingFile::flush_events_locked() {
  if (pending_.empty()) return;
  sync_dictionary_locked();  // the names of these events
  const bool written = append(BlockKind::Events, pending_, pending_compress_);
  (written ? records_written_ : records_failed_) += pending_records_;
  if (!written) tally_.give_up();
  if (written) {
    if (block_records_.size() == kRememberedBlocks) block_records_.erase(block_records_.begin());
    block_records_.push_back(pending_records_);
  }
  pending_.clear();
  pending_records_ = 0;
  pending_pieces_ = 0;
  ++events_blocks_;
  if (tally_.marks_waiting() >= kMarksPerBlock) flush_marks_locked();
  if (tally_.steps_waiting() >= kStepsPerBlock) flush_steps_locked();
}

void RecordingFile::flush_steps_locked() {
  ByteWriter out;
  for (const StepMark& step : tally_.take_steps()) step.write(out);
  if (!out.empty()) append(BlockKind::Steps, out.bytes(), true);
}

void RecordingFile::flush_marks_locked() {
  ByteWriter out;
  for (const PieceMark& mark : tally_.take_marks()) {
    mark.write(out);
    if (out.size() < kMaxBlockBytes / 4) continue;
    append(BlockKind::Pieces, out.bytes(), true);
    out.clear();
  }
  if (!out.empty()) append(BlockKind::Pieces, out.bytes(), true);
}

void RecordingFile::settle_counts() {
  const std::lock_guard guard(mutex_);
  count([this] { tally_.settle(); });
}

void RecordingFile::give_up_counts() {
  const std::lock_guard guard(mutex_);
  tally_.give_up();
}

void RecordingFile::append_counts() {
  if (first_error_) return;
  RecordingTally::Sum sum = tally_.finish();
  if (!tally_.is_exact() || sum.all.records != records_written_) return;
  flush_steps_locked();
  flush_marks_locked();
  ByteWriter out;
  const auto flush = [&] {
    if (!out.empty()) append(BlockKind::Threads, out.bytes(), true);
    out.clear();
  };
  for (ThreadCounts& thread : sum.threads) {
    thread.kernel_id = threads_[thread.thread].kernel_id;
    thread.name = threads_[thread.thread].name;
    thread.write(out);
    if (out.size() > kMaxBlockBytes / 4) flush();
  }
  flush();
  sum.operators.write(out);
  append(BlockKind::Operators, out.bytes(), false);
  out.clear();
  sum.all.write(out);
  append(BlockKind::Counts, out.bytes(), false);
}

void RecordingFile::make_room_for_the_end() {
  const std::lock_guard guard(mutex_);
  if (!first_error_) return;
  tally_.give_up();
  const auto took_back = [this](BlockKind kind) {
    const auto taken = writer_.take_back(kind);
    return taken && *taken;
  };
  const std::uint64_t target =
      writer_.size() > kRoomForTheEnd ? writer_.size() - kRoomForTheEnd : 0;
  while (writer_.size() > target) {
    // Skips small blocks between the events: anchors are frequent, sums are repeated, windows
    // follow below.
    if (took_back(BlockKind::Anchors) || took_back(BlockKind::Ledger) ||
        took_back(BlockKind::Windows))
      continue;
    if (block_records_.empty() || !took_back(BlockKind::Events)) break;
    records_written_ -= block_records_.back();
    records_failed_ += block_records_.back();
    block_records_.pop_back();
  }
  for (const auto& [kind, payload] : repeated_) append(kind, payload, false);
  sync_dictionary_locked();
}

Result<void> RecordingFile::seal() {
  const std::lock_guard guard(mutex_);
  append_counts();
  sealed_ = true;
  auto sealed = writer_.seal();
  if (!sealed) note_failure(sealed.error());
  writer_.release();
  return sealed;
}

std::uint64_t RecordingFile::records_written() const {
  const std::lock_guard guard(mutex_);
  return records_written_;
}

std::uint64_t RecordingFile::records_failed() const {
  const std::lock_guard guard(mutex_);
  return records_failed_;
}

std::optional<Error> RecordingFile::first_error() const {
  if (!has_failed_) return std::nullopt;
  const std::lock_guard guard(mutex_);
  return first_error_;
}

}  // namespace sonde
