// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The memory that CUPTI writes its records into: a pool of equal buffers. They go to CUPTI empty
// and come back filled, and a thread waits for them and decodes them.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace sonde::cuda {

class ActivityBuffers {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{4} << 20;

  explicit ActivityBuffers(std::size_t budget_bytes) : most_(budget_bytes / kBufferBytes) {}
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  // Allocates `count` buffers and faults their pages in. Call it before CUPTI asks for the first.
  void prepare(std::size_t count);

  // A zeroed buffer; null once the budget is used up.
  std::uint8_t* take();
  // Takes back a buffer with `bytes` bytes of records.
  void put_filled(std::uint8_t* buffer, std::size_t bytes);

  struct Filled {
    std::uint8_t* buffer = nullptr;  // null if none arrived in time
    std::size_t bytes = 0;
  };
  // Waits for a filled buffer, at most `wait_ms`, or until wake().
  Filled next_filled(std::int64_t wait_ms);
  // Waits until all filled buffers are decoded, at most `wait_ms`.
  void wait_decoded(std::int64_t wait_ms);
  // The buffer is decoded and may be used again.
  void give_back(std::uint8_t* buffer, std::size_t used_bytes);
  void wake();

  std::uint64_t refused() const;

 private:
  std::uint8_t* map_one();

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable filled_there_;
  std::condition_variable decoded_;
  std::vector<std::uint8_t*> all_;
  std::vector<std::uint8_t*> free_;
  std::deque<Filled> filled_;
  std::size_t in_decoding_ = 0;
  bool woken_ = false;
  std::uint64_t refused_ = 0;
};

}  // namespace sonde::cuda
