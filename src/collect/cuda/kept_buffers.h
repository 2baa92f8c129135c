// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A file with CUPTI's buffers, for tests without a GPU. A program writes it if the variable
// SONDE_CUDA_KEEP_BUFFERS names a file.
//
//   "SONDECU1", u32 version of CUPTI, u32 0
//   then for each buffer: u32 names, u32 bytes; names as u64 address, u32 length, text; the bytes

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collect/cuda/activity.h"
#include "sonde/result.h"

namespace sonde::cuda {

class KeptBuffers {
 public:
  static std::unique_ptr<KeptBuffers> from_environment(std::uint32_t version);
  ~KeptBuffers();
  KeptBuffers(const KeptBuffers&) = delete;
  KeptBuffers& operator=(const KeptBuffers&) = delete;

  // Keeps the kernel's name for the next add().
  void note(const Activity& activity);
  void add(std::span<const std::uint8_t> bytes);

 private:
  explicit KeptBuffers(std::FILE* file) : file_(file) {}
  std::FILE* file_;
  std::map<const char*, std::string> names_;
};

// A buffer that was read back from the file.
struct KeptBuffer {
  std::map<std::uint64_t, std::string> names;
  std::vector<std::uint8_t> bytes;
};
struct KeptFile {
  std::uint32_t version = 0;
  std::vector<KeptBuffer> buffers;
};
Result<KeptFile> read_kept_buffers(std::span<const std::uint8_t> file);

}  // namespace sonde::cuda
