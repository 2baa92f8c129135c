// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/cuda/buffers.h"

#include <sys/mman.h>

#include <chrono>
#include <cstring>

namespace sonde::cuda {

ActivityBuffers::~ActivityBuffers() {
  for (std::uint8_t* buffer : all_) ::munmap(buffer, kBufferBytes);
}

std::uint8_t* ActivityBuffers::map_one() {
  void* const memory =
      ::mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const buffer = static_cast<std::uint8_t*>(memory);
  all_.push_back(buffer);
  return buffer;
}

void ActivityBuffers::prepare(std::size_t count) {
  const std::lock_guard lock(mutex_);
  while (free_.size() < count && all_.size() < most_) {
    std::uint8_t* const buffer = map_one();
    if (buffer == nullptr) return;
#if defined(MADV_POPULATE_WRITE)
    ::madvise(buffer, kBufferBytes, MADV_POPULATE_WRITE);
#endif
    free_.push_back(buffer);
  }
}

std::uint8_t* ActivityBuffers::take() {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    std::uint8_t* const buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  std::uint8_t* const buffer = all_.size() < most_ ? map_one() : nullptr;
  if (buffer == nullptr) ++refused_;
  return buffer;
}

void ActivityBuffers::put_filled(std::uint8_t* buffer, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  filled_.push_back({buffer, bytes});
  filled_there_.notify_one();
}

ActivityBuffers::Filled ActivityBuffers::next_filled(std::int64_t wait_ms) {
  std::unique_lock lock(mutex_);
  filled_there_.wait_for(lock, std::chrono::milliseconds(wait_ms),
                         [this] { return woken_ || !filled_.empty(); });
  woken_ = false;
  if (filled_.empty()) return {};
  const Filled filled = filled_.front();
  filled_.pop_front();
  ++in_decoding_;
  return filled;
}

void ActivityBuffers::give_back(std::uint8_t* buffer, std::size_t used_bytes) {
  std::memset(buffer, 0, used_bytes);
  const std::lock_guard lock(mutex_);
  free_.push_back(buffer);
  --in_decoding_;
  if (in_decoding_ == 0 && filled_.empty()) decoded_.notify_all();
}

void ActivityBuffers::wait_decoded(std::int64_t wait_ms) {
  std::unique_lock lock(mutex_);
  decoded_.wait_for(lock, std::chrono::milliseconds(wait_ms),
                    [this] { return in_decoding_ == 0 && filled_.empty(); });
}

void ActivityBuffers::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  filled_there_.notify_one();
}

std::uint64_t ActivityBuffers::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

}  // namespace sonde::cuda
