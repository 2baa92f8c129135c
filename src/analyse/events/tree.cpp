// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parents and children among host events, and what follows from them.

#include <algorithm>

#include "analyse/events/tree.h"

namespace sonde::detail {
namespace {

// PyTorch gives a row of profiling overhead the id of the operator around it, and with it the
// operator's device work.
void give_overhead_its_operator(EventData& data) {
  const bool has_any = data.has_kind([](SpanKind kind) { return kind == SpanKind::Overhead; });
  for (std::uint32_t event = 0; has_any && event < data.size(); ++event) {
    if (data.kind(event) != SpanKind::Overhead) continue;
    std::uint32_t around = data.parent[event];
    while (around != kNoEvent && !is_pytorch_operator(data.kind(around)))
      around = data.parent[around];
    if (around == kNoEvent) continue;
    data.kernels_first.set(event, data.kernels_first[around]);
    data.kernels_count.set(event, data.kernels_count[around]);
  }
}

class DuplicateEvents {
 public:
  explicit DuplicateEvents(EventData& data) : data_(data) {}

  // An only child with its parent's name is the same event seen twice, so it is merged into the
  // parent. Parents come before their children, so one pass is enough.
  void merge() {
    const std::size_t count = data_.size();
    BigVector<std::uint8_t> children(count, 0);  // 0, 1 or, for more, 2
    for (std::uint32_t event = 0; event < count; ++event) {
      const std::uint32_t parent = data_.parent[event];
      if (parent != kNoEvent && children[parent] < 2) ++children[parent];
    }
    std::vector<std::uint32_t> heir;  // of each removed event
    for (std::uint32_t event = 0; event < count; ++event) {
      std::uint32_t parent = data_.parent[event];
      if (parent == kNoEvent) continue;
      if (!heir.empty() && heir[parent] != kNoEvent) {
        parent = heir[parent];
        data_.parent.set(event, parent);
      }
      if (children[parent] != 1 || data_.name[parent] != data_.name[event]) continue;
      if (heir.empty()) heir.assign(count, kNoEvent);
      heir[event] = parent;
      children[parent] = children[event];
      data_.kernels_first.set(parent, data_.kernels_first[event]);
      data_.kernels_count.set(parent, data_.kernels_count[event]);
    }
    if (!heir.empty()) drop(heir);
  }

 private:
  // Removes the events that were merged, and updates indexes into the list.
  void drop(const std::vector<std::uint32_t>& heir) {
    const std::size_t count = data_.size();
    std::vector<std::uint32_t> place(count);
    std::uint32_t next = 0;
    for (std::uint32_t event = 0; event < count; ++event) {
      place[event] = next;
      next += heir[event] == kNoEvent ? 1 : 0;
    }
    const auto compact = [&](auto& column) {
      if (column.empty()) return;
      std::decay_t<decltype(column)> kept(column.null_value());
      kept.pack();
      for (std::uint32_t event = 0; event < count; ++event) {
        if (heir[event] == kNoEvent) kept.push_back(column[event]);
      }
      column = std::move(kept);
    };
    const auto compact_sparse = [&](auto& column) {
      if (column.empty()) return;
      for (std::uint32_t event = 0; event < count; ++event) {
        if (heir[event] == kNoEvent) column.set(place[event], column[event]);
      }
      column.resize(next);
    };
    data_.parent.change_stretches([&](std::size_t, std::uint32_t* parents, std::size_t events) {
      for (std::size_t i = 0; i < events; ++i) {
        if (parents[i] != kNoEvent) parents[i] = place[parents[i]];
      }
      return true;
    });
    for (std::uint32_t& kernel : data_.kernels) kernel = place[kernel];
    compact(data_.row);
    compact(data_.name);
    compact(data_.flags);
    compact(data_.thread);
    compact(data_.parent);
    compact_sparse(data_.kernels_first);
    compact_sparse(data_.kernels_count);
    compact(data_.cpu_bytes);
    compact_sparse(data_.device_bytes);
  }

  EventData& data_;
};

class DeviceTimes {
 public:
  explicit DeviceTimes(EventData& data) : data_(data) {}

  // What a child's own children took on a device must be known first. They come after their
  // parents, so walking backwards completes a subtree before its root.
  void add_up() {
    const std::size_t count = data_.size();
    BigVector<std::uint32_t> first_child(count, kNoEvent);
    BigVector<std::uint32_t> next_sibling(count, kNoEvent);
    for (auto event = static_cast<std::uint32_t>(count); event-- > 0;) {
      if (data_.has(event, kEventDevice)) {
        data_.device_total_us.set(event, data_.duration_us(event));
        continue;
      }
      if (data_.has(event, kEventAsync)) continue;
      for (std::uint32_t child = first_child[event]; child != kNoEvent;
           child = next_sibling[child]) {
        data_.children_device_us.add(event, data_.device_total_us[child]);
      }
      data_.device_total_us.set(event, own_kernels_us(event) + data_.children_device_us[event]);
      const std::uint32_t parent = data_.parent[event];
      if (parent == kNoEvent) continue;
      next_sibling[event] = first_child[parent];
      first_child[parent] = event;
    }
  }

 private:
  double own_kernels_us(std::uint32_t event) const {
    double total = 0;
    for (std::uint32_t i = 0; i < data_.kernels_count[event]; ++i) {
      total += data_.duration_us(data_.kernels[data_.kernels_first[event] + i]);
    }
    return total;
  }

  EventData& data_;
};

// Finds the parents of the events in the list.
void add_all(EventTree& tree, EventData& data) {
  const bool memory = !data.cpu_bytes.empty();
  data.parent.clear();
  for (std::size_t event = 0; event < data.size(); ++event) {
    MemorySums bytes;
    if (memory) bytes = {data.cpu_bytes[event], data.device_bytes[event]};
    data.parent.push_back(tree.add({.thread = data.thread[event],
                                    .name = data.name[event],
                                    .nests = data.nests(event),
                                    .times = data.times(event),
                                    .bytes = bytes}));
  }
}

}  // namespace

void EventTree::finish() {
  for (const std::vector<Open>& of_thread : open_) {
    for (const Open& open : of_thread) close(open);
  }
  if (has_duplicates_) {
    DuplicateEvents(data_).merge();
    data_.children = {};
    EventTree merged(data_);
    add_all(merged, data_);
    return merged.finish_sums();
  }
  finish_sums();
}

void EventTree::finish_sums() {
  const std::size_t count = data_.size();
  data_.children.close(count);
  data_.children_device_bytes.assign_zeros(data_.cpu_bytes.empty() ? 0 : count);
  for (const DeviceBytes& child : device_bytes_)
    data_.children_device_bytes.add(child.parent, child.bytes);
  data_.children_device_us.assign_zeros(count);
  data_.device_total_us.assign_zeros(count);
  if (data_.has_kind(is_on_device)) DeviceTimes(data_).add_up();
}

void build_tree(EventData& data) {
  if (data.has_tree) return;
  EventTree tree(data);
  add_all(tree, data);
  give_overhead_its_operator(data);
  tree.finish();
}

}  // namespace sonde::detail
