// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Events some at a time, which is faster than one by one where columns are packed.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyse/events/event_data.h"
#include "base/parallel.h"

namespace sonde::detail {

inline constexpr std::size_t kEventsAtOnce = 1024;

struct EventBlock {
  std::size_t first = 0;
  std::size_t count = 0;
  std::array<NameNumber, kEventsAtOnce> name{};
  std::array<EventFlag, kEventsAtOnce> flags{};
  std::array<std::int64_t, kEventsAtOnce> cpu_bytes{};
  std::array<double, kEventsAtOnce> duration_us{};

  void read(const EventData& data) {
    data.name.read(first, count, name.data());
    data.flags.read(first, count, flags.data());
    if (!data.cpu_bytes.empty()) data.cpu_bytes.read(first, count, cpu_bytes.data());
    std::array<std::uint32_t, kEventsAtOnce> row{};
    data.row.read(first, count, row.data());
    // Of one thread without hidden events, rows follow one another.
    bool are_neighbours = true;
    for (std::size_t i = 0; i < count; ++i)
      are_neighbours = are_neighbours && row[i] == row[0] + i && (flags[i] & kEventMemory) == 0;
    if (!are_neighbours) {
      for (std::size_t i = 0; i < count; ++i) duration_us[i] = data.duration_us(first + i);
      return;
    }
    std::array<Nanos, kEventsAtOnce> start_ns{};
    std::array<Nanos, kEventsAtOnce> duration_ns{};
    data.spans->start_ns.read(row[0], count, start_ns.data());
    data.spans->duration_ns.read(row[0], count, duration_ns.data());
    for (std::size_t i = 0; i < count; ++i)
      duration_us[i] = data.duration_us({start_ns[i], start_ns[i] + duration_ns[i]});
  }
};

// Calls visit(EventBlock) for all events in order.
template <typename Visit>
void visit_blocks(const EventData& data, const Visit& visit) {
  constexpr std::size_t kBlocksAtOnce = 64;
  struct Blocks {
    std::size_t count = 0;
    std::vector<EventBlock> blocks;
  };
  std::size_t next = 0;
  make_and_use<Blocks>(
      [&](Blocks& read) {
        read.count = 0;
        for (; read.count < kBlocksAtOnce && next < data.size(); ++read.count) {
          if (read.blocks.size() == read.count) read.blocks.emplace_back();
          EventBlock& block = read.blocks[read.count];
          block.first = next;
          block.count = std::min(kEventsAtOnce, data.size() - next);
          block.read(data);
          next += block.count;
        }
        return next < data.size();
      },
      [&](const Blocks& read) {
        for (std::size_t i = 0; i < read.count; ++i) visit(read.blocks[i]);
      });
}

}  // namespace sonde::detail
