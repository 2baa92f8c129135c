// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/memory_columns.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

namespace sonde::detail {
namespace {

constexpr std::uint32_t kLeftOut = std::numeric_limits<std::uint32_t>::max();

class ColumnMaker {
 public:
  ColumnMaker(const MemoryProfile& profile, const DeviceMemory& device, std::size_t most_events)
      : profile_(profile), device_(device), start_ns_(profile.trace.first_ns()) {
    choose_blocks(most_events);
    // Limits how often small blocks change a category.
    const Nanos length_ns = std::max<Nanos>(profile.trace.last_ns() - start_ns_, 1);
    const auto stretches = static_cast<Nanos>(most_events / (2 * kMemoryCategories) + 1);
    stretch_ns_ = length_ns / stretches + 1;
  }

  MemoryColumns run() {
    for (std::size_t i = 0; i < device_.events.size(); ++i) {
      add(device_.events[i]);
      if (i == device_.peak.event && !out_.time_ns.empty())
        out_.peak_event = out_.time_ns.size() - 1;
    }
    flush();
    return std::move(out_);
  }

 private:
  // Chooses the largest blocks, as many as their events fit; all blocks if they fit.
  void choose_blocks(std::size_t most_events) {
    number_.assign(device_.blocks.size(), 0);
    if (device_.events.size() > most_events) {
      std::vector<std::uint32_t> events(device_.blocks.size(), 0);
      for (const MemoryEvent& event : device_.events) ++events[event.block];
      std::vector<std::uint32_t> order(device_.blocks.size());
      for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
        return device_.blocks[a].bytes > device_.blocks[b].bytes;
      });
      std::size_t room = most_events / 2;
      bool full = false;
      for (const std::uint32_t block : order) {
        full = full || events[block] > room;
        if (full) number_[block] = kLeftOut;
        if (!full) room -= events[block];
      }
    }
    for (std::uint32_t i = 0; i < device_.blocks.size(); ++i) {
      if (number_[i] == kLeftOut) continue;
      number_[i] = static_cast<std::uint32_t>(out_.block_bytes.size());
      out_.block_bytes.push_back(static_cast<double>(device_.blocks[i].bytes));
      out_.block_op.push_back(op_of(device_.blocks[i]));
    }
  }

  std::uint32_t op_of(const MemoryBlock& block) {
    const bool was_before = !block.birth.valid();
    const StringId name = block.op.valid() ? profile_.trace.spans().name[block.op] : StringId();
    const std::uint64_t key = was_before ? ~std::uint64_t{0} : name.value();
    const auto [found, is_new] = ops_.try_emplace(key, static_cast<std::uint32_t>(out_.ops.size()));
    if (is_new) {
      out_.ops.emplace_back(was_before     ? "(before recording)"
                            : name.valid() ? profile_.trace.string(name)
                                           : "(outside operators)");
    }
    return found->second;
  }

  double time_of(const MemoryEvent& event) const {
    return event.time_ns == kBeforeRecording ? 0 : static_cast<double>(event.time_ns - start_ns_);
  }

  void push(double time_ns, std::uint32_t block, unsigned action, unsigned category) {
    out_.time_ns.push_back(time_ns);
    out_.block.push_back(block);
    out_.kind.push_back(static_cast<std::uint8_t>(action | (category << 4)));
  }

  void add(const MemoryEvent& event) {
    const std::uint32_t block = number_[event.block];
    const double time_ns = time_of(event);
    if (has_changes_ && time_ns >= flush_at_ns_) flush();
    if (block != kLeftOut) {
      push(time_ns, block, static_cast<unsigned>(event.action), static_cast<unsigned>(event.to));
      return;
    }
    const std::int64_t bytes = device_.blocks[event.block].bytes;
    if (event.action >= MemoryAction::IncrementVersion)
      changes_[static_cast<std::size_t>(event.from)] -= bytes;
    if (event.action <= MemoryAction::IncrementVersion)
      changes_[static_cast<std::size_t>(event.to)] += bytes;
    if (!has_changes_) flush_at_ns_ = time_ns + static_cast<double>(stretch_ns_);
    has_changes_ = true;
    last_ns_ = time_ns;
  }

  void flush() {
    for (unsigned category = 0; category < kMemoryCategories; ++category) {
      if (changes_[category] == 0) continue;
      const double at = out_.time_ns.empty() ? last_ns_ : std::max(last_ns_, out_.time_ns.back());
      push(at, 0, kChangeAction, category);
      out_.change.push_back(static_cast<double>(changes_[category]));
      changes_[category] = 0;
    }
    has_changes_ = false;
  }

  const MemoryProfile& profile_;
  const DeviceMemory& device_;
  const Nanos start_ns_;
  MemoryColumns out_;
  std::vector<std::uint32_t> number_;  // of each block on the page, or kLeftOut
  std::unordered_map<std::uint64_t, std::uint32_t> ops_;
  Nanos stretch_ns_ = 1;
  BytesByCategory changes_{};  // that are not yet on the page
  bool has_changes_ = false;
  double flush_at_ns_ = 0;
  double last_ns_ = 0;
};

}  // namespace

MemoryColumns memory_columns(const MemoryProfile& profile, const DeviceMemory& device,
                             std::size_t most_events) {
  return ColumnMaker(profile, device, most_events).run();
}

}  // namespace sonde::detail
