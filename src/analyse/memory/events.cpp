// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/memory/events.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/big_vector.h"

namespace sonde::detail {
namespace {

class EventLister {
 public:
  EventLister(const Trace& trace, FollowedBlocks followed, const Flow& flow,
              const std::vector<MemoryCategory>& categories)
      : trace_(trace), followed_(std::move(followed)), flow_(flow), categories_(categories) {
    followed_.span_of_allocation = nullptr;  // not needed here
  }

  std::vector<DeviceMemory> run() {
    place_devices();
    hand_out_blocks();
    list_what_was_there();
    list_what_happened();
    for (DeviceMemory& device : out_) find_peak(device);
    std::erase_if(out_, [](const DeviceMemory& device) {
      return device.events.empty() && device.out_of_memory.empty();
    });
    return std::move(out_);
  }

 private:
  void place_devices() {
    std::vector<std::size_t> order(followed_.devices.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      const auto key = [this](std::size_t i) {
        const FollowedBlocks::Device& device = followed_.devices[i];
        return std::tuple(device.process.value(), device.device.type, device.device.index);
      };
      return key(a) < key(b);
    });
    place_.resize(order.size());
    out_.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      FollowedBlocks::Device& from = followed_.devices[order[i]];
      place_[order[i]] = i;
      out_[i].device = from.device;
      out_[i].process = from.process;
      out_[i].problems = from.problems;
      out_[i].out_of_memory = std::move(from.out_of_memory);
    }
  }

  DeviceMemory& device_of(std::uint32_t block) {
    return out_[place_[followed_.device_of_block[block]]];
  }

  // Leaves out blocks from before the recording whose size never became known.
  void hand_out_blocks() {
    current_.assign(followed_.blocks.size(), MemoryCategory::Unknown);
    std::vector<std::size_t> blocks(out_.size());
    Column<SpanId> ops;
    ops.pack();
    for (std::uint32_t i = 0; i < followed_.blocks.size(); ++i) {
      const bool is_known = followed_.blocks.bytes(i) != 0;
      ops.push_back(is_known ? op_of(followed_.blocks.span(i)) : SpanId());
      if (!is_known) continue;
      ++blocks[place_[followed_.device_of_block[i]]];
      current_[i] = categories_[flow_.version(i, 0)];
    }
    followed_.blocks.set_ops(std::move(ops));
    // They are many: those of a single device are not copied.
    if (out_.size() == 1 && blocks[0] == followed_.blocks.size()) {
      out_[0].blocks = std::move(followed_.blocks);
      return;
    }
    for (std::size_t i = 0; i < out_.size(); ++i) out_[i].blocks.reserve(blocks[i]);
    number_.assign(followed_.blocks.size(), kNoBlock);
    for (std::uint32_t i = 0; i < followed_.blocks.size(); ++i) {
      if (followed_.blocks.bytes(i) == 0) continue;
      DeviceMemory& device = device_of(i);
      number_[i] = static_cast<std::uint32_t>(device.blocks.size());
      device.blocks.push_back(followed_.blocks[i]);
    }
  }

  // Of a block on its device.
  std::uint32_t number_of(std::uint32_t block) const {
    return number_.empty() ? block : number_[block];
  }
  const MemoryBlocks& blocks() const { return number_.empty() ? out_[0].blocks : followed_.blocks; }

  SpanId op_of(SpanId span) const {
    if (!span.valid()) return span;
    const std::uint32_t leaf = flow_.leaf_of_span[span.index()];
    return leaf == kNoLeaf ? span : flow_.leaves[leaf];
  }

  void add(std::uint32_t block, MemoryAction action, Nanos time_ns, MemoryCategory to) {
    device_of(block).events.push_back({time_ns, number_of(block), action, current_[block], to});
    current_[block] = to;
  }

  void list_what_was_there() {
    is_alive_.assign(current_.size(), 0);
    for (std::uint32_t i = 0; i < current_.size(); ++i) {
      if (number_of(i) == kNoBlock || blocks().birth(i).valid()) continue;
      is_alive_[i] = 1;
      add(i, MemoryAction::Preexisting, kBeforeRecording, current_[i]);
    }
  }

  void list_what_happened() {
    const AllocationTable& allocations = trace_.allocations();
    const std::size_t leaves = flow_.has_edges() ? flow_.leaves.size() : 0;
    std::size_t leaf = 0;
    for (std::size_t i = 0; i < followed_.in_order.size(); ++i) {
      const AllocationId row = followed_.in_order[i];
      const Nanos time_ns = allocations.time_ns[row];
      for (; leaf < leaves && start_ns(leaf) <= time_ns; ++leaf) list_writes(leaf);
      list_allocation(row, time_ns);
    }
    for (; leaf < leaves; ++leaf) list_writes(leaf);
  }

  Nanos start_ns(std::size_t leaf) const { return trace_.spans().start_ns[flow_.leaves[leaf]]; }

  void list_writes(std::size_t leaf) {
    for (std::uint32_t i = flow_.edges_first[leaf]; i < flow_.edges_first[leaf + 1]; ++i) {
      const Edge& edge = flow_.edges[i];
      // Another thread's block may not exist yet, or no longer.
      if (edge.version < 0 || !edge.written || is_alive_[edge.block] == 0) continue;
      add(edge.block, MemoryAction::IncrementVersion, start_ns(leaf), categories_[flow_.out(edge)]);
    }
  }

  void list_allocation(AllocationId row, Nanos time_ns) {
    const std::uint32_t found = followed_.block_of_allocation[row];
    if (found == kNoBlock) return;
    if (blocks().birth(found) != row) return end(found, time_ns);
    if (next_ended_ < followed_.ended_by_birth.size()) {
      const std::uint32_t before = followed_.ended_by_birth[next_ended_];
      if (blocks().death(before) == row) {
        end(before, time_ns);
        ++next_ended_;
      }
    }
    is_alive_[found] = 1;
    add(found, MemoryAction::Create, time_ns, current_[found]);
  }

  void end(std::uint32_t block, Nanos time_ns) {
    if (std::exchange(is_alive_[block], 0) == 0) return;
    add(block, MemoryAction::Destroy, time_ns, current_[block]);
  }

  static void find_peak(DeviceMemory& device) {
    MemoryRun run(device);
    while (run.next()) {
      if (run.live_bytes() <= device.peak.live_bytes) continue;
      device.peak = {run.number(), run.event().time_ns, run.live_bytes(), run.by_category()};
    }
  }

  const Trace& trace_;
  FollowedBlocks followed_;
  const Flow& flow_;
  const std::vector<MemoryCategory>& categories_;
  std::vector<DeviceMemory> out_;
  std::vector<std::size_t> place_;       // in out_, by device
  std::vector<std::uint32_t> number_;    // of each block; empty if a device has them all
  std::vector<MemoryCategory> current_;  // of each block
  std::vector<std::uint8_t> is_alive_;
  std::size_t next_ended_ = 0;  // in ended_by_birth
};

}  // namespace

std::vector<DeviceMemory> list_events(const Trace& trace, FollowedBlocks followed, const Flow& flow,
                                      const std::vector<MemoryCategory>& categories) {
  return EventLister(trace, std::move(followed), flow, categories).run();
}

}  // namespace sonde::detail
