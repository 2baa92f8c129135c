// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The memory that threads record into: chunks in a mapped file beside the output, so that a kill
// leaves them, or plain memory where no such file can be had.
//
// The address range is never given back: a thread may still be about to write to a chunk of a
// stream that has ended. close() puts empty memory in its place.

#include <cstdint>
#include <string>

#include "base/kept_file.h"

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

  // Maps `live_path`, newly made and with all its blocks reserved on disk, or plain memory if that
  // path is empty or it cannot be done; `why` then says why. A full disk shows here and not as a
  // SIGBUS in the program.
  void open(const std::string& live_path, std::uint32_t chunk_count, std::uint64_t stream,
            std::string& why);
  // Whether the chunks outlive a kill.
  bool file_backed() const { return !live_path_.empty(); }
  const std::string& live_path() const { return live_path_; }

  // Brings the chunks numbered from `first` to before `last` into memory, so that no recording
  // thread takes a page fault. Nobody may be using them: they are filled with zeros, which is what
  // makes it cheap where blocks of a file are only reserved.
  void prepare(std::uint32_t first, std::uint32_t last);

  // Removes the live file.
  void close();

 private:
  bool map_file(const std::string& path, std::uint32_t chunk_count, std::uint64_t stream,
                std::string& why);
  void map_plain();

  char* base_ = nullptr;
  std::uint32_t max_chunks_ = 0;
  std::uint32_t chunk_count_ = 0;
  KeptFile file_;  // the live one
  std::string live_path_;
};

}  // namespace sonde
