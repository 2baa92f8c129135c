// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Finds the parents of events, and adds up their children. The parent is the top of the thread's
// stack, once events that have ended are removed. Events that only partly overlap are not related.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyse/events/event_data.h"
#include "analyse/events/memory.h"

namespace sonde::detail {

class EventTree {
 public:
  explicit EventTree(EventData& data) : data_(data), open_(data.trace.tracks().size() + 1) {}

  struct Event {
    std::uint32_t thread;
    NameNumber name;
    bool nests;
    EventData::Times times;
    MemorySums bytes;
  };
  // The next event of the list; returns its parent.
  std::uint32_t add(const Event& event) {
    const std::uint32_t number = next_++;
    if (!event.nests) return kNoEvent;
    std::vector<Open>& open = open_[event.thread < open_.size() ? event.thread : open_.size() - 1];
    while (!open.empty() && (event.times.begin_ns >= open.back().end_ns ||
                             event.times.end_ns > open.back().end_ns)) {
      close(open.back());
      open.pop_back();
    }
    std::uint32_t parent = kNoEvent;
    if (!open.empty()) {
      add_child(open.back(), event);
      parent = open.back().event;
    }
    open.push_back({event.times.end_ns, number, kNoEvent, event.name, 0, 0});
    return parent;
  }
  // After the last event: gives `data` the sums and merges events that were seen twice.
  void finish();

 private:
  struct Open {
    Nanos end_ns;
    std::uint32_t event;
    std::uint32_t sums;  // where those of its children are; kNoEvent without any
    NameNumber name;
    NameNumber first_child;  // its name
    std::uint32_t children;  // 0, 1 or, for more, 2
  };

  void finish_sums();
  void close(const Open& open) {
    if (open.children == 1 && open.first_child == open.name) has_duplicates_ = true;
  }
  void add_child(Open& parent, const Event& child) {
    if (parent.children == 0) {
      parent.sums = data_.children.open(parent.event);
      parent.first_child = child.name;
    }
    parent.children = parent.children == 0 ? 1 : 2;
    // In the order of the events, because floating-point sums depend on it.
    data_.children.add(parent.sums, {data_.duration_us(child.times), child.bytes.cpu});
    if (child.bytes.device != 0) device_bytes_.push_back({parent.event, child.bytes.device});
  }

  struct DeviceBytes {
    std::uint32_t parent;
    std::int64_t bytes;
  };

  EventData& data_;
  std::uint32_t next_ = 0;
  std::vector<std::vector<Open>> open_;  // by thread
  std::vector<DeviceBytes> device_bytes_;
  bool has_duplicates_ = false;
};

}  // namespace sonde::detail
