// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The `.sonde` file of one session while it is written. Every call may come from any thread. A
// write that fails (a full disk) is remembered and tried again with the next one. What could not be
// written is counted.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "decode/recording_tally.h"
#include "file/block_file.h"
#include "sonde/result.h"
#include "sonde/trace.h"
#include "wire/blocks.h"
#include "wire/codec.h"
#include "wire/dictionary.h"

namespace sonde {

class RecordingFile {
 public:
  static Result<std::unique_ptr<RecordingFile>> create(const std::string& path);

  void add_process(const ProcessBlock& process);
  void add_anchor(const ClockAnchor& anchor);
  void add_window(const WindowBlock& window);
  Result<void> add_metadata(const std::string& key, const std::string& json);
  void add_ledger(LedgerKind kind, std::uint64_t count, const std::string& source = "",
                  const std::string& detail = "");

  // Keeps only these threads; if both are empty, all.
  void keep_only(std::vector<std::int64_t> thread_ids, std::vector<std::string> thread_names);

  // Writes new names. Events that were written earlier may use them.
  void sync_dictionary();
  // Whole records of one thread, as they were and as encode_events made them.
  struct Piece {
    const EventsHead& head;
    std::span<const std::uint64_t> words;
    const std::vector<std::uint8_t>& encoded;
    std::uint64_t records;
    bool is_still_filled;  // its chunk may get more words, and earlier ones may come after these
  };
  // Many pieces go into one block. They are in the file when flush_events() has returned.
  void add_events(const Piece& piece, bool compress);
  void flush_events();
  // Call it when everything that the threads wrote until some moment has been added.
  void settle_counts();
  // Call it when pieces come in no particular order. The file then does not state how much it
  // holds.
  void give_up_counts();

  // After a write failed because the disk is full: removes the last events to make room for ledger
  // and index. Removed events count as failed.
  void make_room_for_the_end();
  // Writes index and trailer. Then the file is closed and its name is free, whether or not this
  // worked.
  Result<void> seal();

  // The file's id. Its name may belong to another file by now.
  const std::string& id() const { return writer_.id(); }
  std::string readable_path() const { return writer_.file().readable_path(); }
  std::uint64_t records_written() const;
  std::uint64_t records_failed() const;
  // Waits for a running write only if one has failed.
  std::optional<Error> first_error() const;

 private:
  explicit RecordingFile(BlockWriter writer) : writer_(std::move(writer)) {}

  bool append(BlockKind kind, std::span<const std::uint8_t> payload, bool compress);
  void note_failure(const Error& error);
  void sync_dictionary_locked();
  void note_dictionary();
  void flush_events_locked();
  // The recording goes on without counts if there is no memory for them.
  template <typename Step>
  void count(const Step& step) {
    try {
      step();
    } catch (const std::bad_alloc&) {
      tally_.give_up();
    }
  }
  void flush_steps_locked();
  void flush_marks_locked();
  void append_counts();
  void note_name(const DictionaryEntry& entry);
  bool keeps(std::uint64_t thread) const;

  mutable std::mutex mutex_;
  BlockWriter writer_;
  bool sealed_ = false;
  std::uint64_t dictionary_bytes_ = 0;  // that are in the file
  std::uint64_t noted_bytes_ = 0;       // that note_dictionary() has seen
  std::vector<std::uint8_t> pending_;   // pieces for the next Events block
  std::uint64_t pending_records_ = 0;
  std::uint32_t pending_pieces_ = 0;
  std::uint32_t events_blocks_ = 0;  // in the file
  bool pending_compress_ = true;
  std::vector<std::pair<BlockKind, std::vector<std::uint8_t>>>
      repeated_;                              // see make_room_for_the_end
  std::vector<std::uint64_t> block_records_;  // of the last Events blocks
  std::uint64_t records_written_ = 0;
  std::uint64_t records_failed_ = 0;
  std::optional<Error> first_error_;
  std::atomic<bool> has_failed_{false};
  std::vector<std::int64_t> only_ids_;
  std::vector<std::string> only_names_;
  std::unordered_map<std::uint64_t, bool> kept_threads_;
  RecordingTally tally_;
  struct ThreadEntry {
    std::uint64_t kernel_id = 0;
    std::string name;
  };
  std::unordered_map<std::uint64_t, ThreadEntry> threads_;
};

}  // namespace sonde
