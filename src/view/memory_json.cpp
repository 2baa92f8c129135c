// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// PyTorch's two JSON formats of a memory timeline, reproduced exactly.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

#include "sonde/view/memory_timeline.h"

namespace sonde {
namespace {

void append(std::string& out, std::int64_t number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
  out.append(digits, end);
}

// Divides as Python does: the nearest double, then without its fraction.
std::int64_t microseconds(Nanos time_ns) {
  const auto nearest = static_cast<double>(static_cast<long double>(time_ns) / 1000.0L);
  return static_cast<std::int64_t>(nearest);
}

// Events at the same time are in the order of their actions.
std::vector<std::uint32_t> sorted_by_action(const DeviceMemory& device) {
  const MemoryEvents& events = device.events;
  std::vector<std::uint32_t> order(events.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first + 1;
    while (last < order.size() && events[last].time_ns == events[first].time_ns) ++last;
    std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(first),
                     order.begin() + static_cast<std::ptrdiff_t>(last),
                     [&events](std::uint32_t a, std::uint32_t b) {
                       return events[a].action < events[b].action;
                     });
    first = last;
  }
  return order;
}

// The bytes at each moment that PyTorch distinguishes.
class Series {
 public:
  explicit Series(const DeviceMemory& device) {
    for (const std::uint32_t i : sorted_by_action(device)) {
      const MemoryEvent event = device.events[i];
      const bool was_before = event.time_ns == kBeforeRecording;
      at(was_before ? kBeforeRecording : microseconds(event.time_ns));
      const std::int64_t bytes = device.blocks.bytes(event.block);
      if (event.action >= MemoryAction::IncrementVersion)
        bytes_.back()[static_cast<std::size_t>(event.from)] -= bytes;
      if (event.action <= MemoryAction::IncrementVersion)
        bytes_.back()[static_cast<std::size_t>(event.to)] += bytes;
    }
    // Memory from before the recording counts from the first moment that has a time.
    if (times_us_.size() > 1 && times_us_.front() == kBeforeRecording)
      times_us_.front() = times_us_[1];
  }

  std::string json() const {
    std::string out = "[[";
    for (std::size_t i = 0; i < times_us_.size(); ++i) {
      if (i > 0) out += ", ";
      append(out, times_us_[i]);
    }
    out += "], [";
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      out += i > 0 ? ", [0" : "[0";
      for (const std::int64_t bytes : bytes_[i]) {
        out += ", ";
        append(out, bytes);
      }
      out += ']';
    }
    return out + "]]";
  }

 private:
  void at(std::int64_t time_us) {
    if (!times_us_.empty() && times_us_.back() == time_us) return;
    bytes_.push_back(bytes_.empty() ? BytesByCategory{} : bytes_.back());
    times_us_.push_back(time_us);
  }

  std::vector<std::int64_t> times_us_;
  std::vector<BytesByCategory> bytes_;
};

}  // namespace

std::string memory_series_json(const DeviceMemory& device) {
  return Series(device).json();
}

std::string memory_events_json(const DeviceMemory& device) {
  std::string out = "[";
  const auto row = [&](const MemoryEvent& event, std::int64_t bytes, MemoryCategory category) {
    out += out.size() > 1 ? ", [" : "[";
    append(out, event.time_ns);
    out += ", ";
    append(out, static_cast<std::int64_t>(event.action));
    out += ", ";
    append(out, bytes);
    out += ", ";
    append(out, static_cast<std::int64_t>(category));
    out += ']';
  };
  for (const std::uint32_t i : sorted_by_action(device)) {
    const MemoryEvent event = device.events[i];
    const std::int64_t bytes = device.blocks.bytes(event.block);
    if (event.action >= MemoryAction::IncrementVersion) row(event, -bytes, event.from);
    if (event.action <= MemoryAction::IncrementVersion) row(event, bytes, event.to);
  }
  return out + "]";
}

}  // namespace sonde
