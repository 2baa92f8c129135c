// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The memory that threads record into: chunks in a mapped file beside the output, which survive a
// kill, or plain memory if there can be no such file.
//
// The address range is never given back, because a thread may still be about to write to a chunk of
// a stream that has ended. close() puts empty memory in its place.

#include <cstdint>
#include <string>

#include "base/kept_file.h"
#include "sonde/result.h"
#include "wire/live_file.h"

namespace sonde {

class Arena {
 public:
  explicit Arena(std::uint32_t max_chunks);  // reserves addresses, no memory
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() = delete;

  bool reserved() const { return base_ != nullptr; }
  std::uint32_t max_chunks() const { return max_chunks_; }
  char* chunks() const;  // the first chunk, aligned to kChunkBytes

  // Maps a new live file beside `output`. Its first blocks are reserved on disk, no more than a
  // short program needs, because each block takes time to reserve and to free; reserve() reserves
  // the rest. The file has room for fewer chunks than `chunk_count` if the process may not write as
  // much or the disk does not have the space. Uses plain memory if `output` is empty or the file
  // cannot be made. In both cases `why` gets the reason.
  void open(const std::string& output, std::uint32_t chunk_count, std::uint64_t stream,
            std::string& why);
  // In the live file or in plain memory. All zeros after open(), and never unmapped.
  LiveLedger& ledger() const;
  // The number of chunks, which is fixed by open().
  std::uint32_t chunk_count() const { return chunk_count_; }
  // Whether the chunks survive a kill.
  bool file_backed() const { return !live_path_.empty(); }
  const std::string& live_path() const { return live_path_; }

  // How many chunks have their blocks on disk, so that a full disk shows there and not as a SIGBUS
  // in the program. Nobody may use the others.
  std::uint32_t reserved_chunks() const { return reserved_chunks_; }
  // Reserves up to `chunks`, in large steps, if the disk has the space now. False if it has not.
  bool reserve(std::uint32_t chunks);
  // How many should be reserved beyond those that threads use, if they need `ready` from one look
  // to the next.
  std::uint32_t ahead(std::uint32_t ready) const;
  // How many chunks cost the disk little compared with the space it has now.
  std::uint32_t plenty() const;

  // Brings the chunks from `first` to before `last` into memory, so that no recording thread takes
  // a page fault. Nobody may be using them: they are filled with zeros, which makes this cheap
  // where blocks of a file are only reserved.
  void prepare(std::uint32_t first, std::uint32_t last);

  // Removes the live file, unless its name belongs to another file by now.
  void close();

 private:
  Result<void> map_file(const std::string& output, std::uint64_t stream);
  Result<void> fill_and_map(KeptFile& file, const std::string& path, std::uint64_t stream);
  bool extend(int fd, std::uint32_t chunks);
  void map_plain();

  char* base_ = nullptr;
  std::uint32_t max_chunks_ = 0;
  std::uint32_t chunk_count_ = 0;
  std::uint32_t reserved_chunks_ = 0;
  bool in_memory_ = false;  // the file system of the live file
  KeptFile file_;           // the live one
  std::string live_path_;
};

}  // namespace sonde
