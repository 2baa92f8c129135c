// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A bounded queue of chunk numbers for many producers and many consumers that never waits: a push
// or pop that meets one half done by another thread fails instead. After Dmitry Vyukov's bounded
// MPMC queue: each cell carries the turn at which it may be written or read. Turns are counted from
// the cell's own number, so a queue of zeros is empty, and cells that are never used take no
// memory.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sonde::detail {

// Head and tail are on separate cache lines: the padding is intended.
class IndexQueue {  // NOLINT(clang-analyzer-optin.performance.Padding)
 public:
  struct Cell {
    std::atomic<std::uint64_t> turn;
    std::uint32_t value;
  };

  // `cells` must be zeros and outlive the queue; `capacity` is a power of two. Not thread-safe.
  void reset(Cell* cells, std::uint64_t capacity) noexcept {
    cells_ = cells;
    mask_ = capacity - 1;
    head_.store(0, std::memory_order_relaxed);
    tail_.store(0, std::memory_order_release);
  }

  bool push(std::uint32_t value) noexcept {
    std::uint64_t at = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[at & mask_];
      const std::uint64_t round = at & ~mask_;
      const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);  // pairs with pop
      if (turn == round) {
        if (tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
          cell.value = value;
          cell.turn.store(round + 1, std::memory_order_release);  // pairs with pop
          return true;
        }
      } else if (turn < round) {
        return false;
      } else {
        at = tail_.load(std::memory_order_relaxed);
      }
    }
  }

  bool pop(std::uint32_t& value) noexcept {
    std::uint64_t at = head_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[at & mask_];
      const std::uint64_t round = at & ~mask_;
      const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);  // pairs with push
      if (turn == round + 1) {
        if (head_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
          value = cell.value;
          cell.turn.store(round + mask_ + 1, std::memory_order_release);  // pairs with push
          return true;
        }
      } else if (turn < round + 1) {
        return false;
      } else {
        at = head_.load(std::memory_order_relaxed);
      }
    }
  }

  // How many are in it, not counting pushes and pops in progress.
  std::uint64_t size() const noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    return tail > head ? tail - head : 0;
  }

 private:
  Cell* cells_ = nullptr;
  std::uint64_t mask_ = 0;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace sonde::detail
