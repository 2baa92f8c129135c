// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Bytes that were allocated and freed while an event ran, and the records that ran inside no event.

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

enum class MemorySide : std::uint8_t { Cpu, Device, Neither };
constexpr MemorySide memory_side(DeviceType type) {
  switch (type) {
    case DeviceType::Cpu:
    case DeviceType::Mkldnn:
    case DeviceType::Ideep:
      return MemorySide::Cpu;
    case DeviceType::Cuda:
    case DeviceType::PrivateUse1:
    case DeviceType::Hip:
    case DeviceType::Xpu:
      return MemorySide::Device;
    default:
      return MemorySide::Neither;
  }
}

struct MemorySums {
  std::int64_t cpu = 0;
  std::int64_t device = 0;

  void add(DeviceType type, std::int64_t bytes) {
    const MemorySide side = memory_side(type);
    cpu += side == MemorySide::Cpu ? bytes : 0;
    device += side == MemorySide::Device ? bytes : 0;
  }
};

inline constexpr std::size_t kRecordsAtOnce = 1024;
// Some neighbouring records.
struct RecordBlock {
  std::array<Nanos, kRecordsAtOnce> time_ns{};
  std::array<std::int64_t, kRecordsAtOnce> bytes{};
  std::array<DeviceType, kRecordsAtOnce> device_type{};

  void read(const AllocationTable& allocations, std::size_t first, std::size_t count) {
    allocations.time_ns.read(first, count, time_ns.data());
    allocations.bytes.read(first, count, bytes.data());
    allocations.device_type.read(first, count, device_type.data());
  }
};

// The records of one process in time order, with running sums, so that the sum between two of them
// is a subtraction.
class MemoryRecords {
 public:
  explicit MemoryRecords(const AllocationTable& allocations) : allocations_(&allocations) {}

  // Neighbouring rows, which come after those added before.
  void add(std::uint32_t first_row, const RecordBlock& rows, std::size_t first, std::size_t count);
  // After the last add().
  void close();

  // What the records inside of an event sum up to. Call pass() for its begin before.
  MemorySums inside(Nanos end_ns);
  // Passes over the records before `begin_ns`. Calls alone(row, time) for those that are inside
  // none of the events so far, because later events begin later.
  template <typename Alone>
  void pass(Nanos begin_ns, const Alone& alone) {
    for (; at_ < count_ && next_ns_ < begin_ns; step()) {
      if (!covered_any_ || next_ns_ > covered_to_ns_) alone(row(at_), next_ns_);
    }
  }

 private:
  static constexpr std::size_t kRowsPerSum = 16;
  struct Block : RecordBlock {
    std::size_t number = std::numeric_limits<std::size_t>::max();
  };

  std::uint32_t row(std::size_t i) const {
    return rows_.empty() ? first_row_ + static_cast<std::uint32_t>(i) : rows_[i];
  }
  Nanos time_ns(std::size_t i) const { return allocations_->time_ns[row(i)]; }
  // Of the i-th record; its neighbours come next.
  const Block& block_of(std::size_t i) {
    const Block& block = blocks_[i / kRecordsAtOnce % 2];
    return block.number == i / kRecordsAtOnce ? block : read_block(i / kRecordsAtOnce);
  }
  const Block& read_block(std::size_t number);
  void step() {
    ++at_;
    if (at_ < count_) next_ns_ = block_of(at_).time_ns[at_ % kRecordsAtOnce];
  }
  void sum_up();
  MemorySums sums_before(std::size_t i) const;
  std::size_t first_after(Nanos end_ns) const;

  const AllocationTable* allocations_;
  std::size_t count_ = 0;
  std::uint32_t first_row_ = 0;
  std::vector<std::uint32_t> rows_;  // empty while they follow one another from first_row_ on
  bool is_in_order_ = true;
  Nanos last_ns_ = std::numeric_limits<Nanos>::min();
  MemorySums all_;
  std::vector<MemorySums> sums_;  // before each kRowsPerSum-th record
  std::size_t at_ = 0;            // the first that is not before the begin of the last event
  Nanos next_ns_ = 0;             // its time
  Nanos covered_to_ns_ = 0;       // the latest end of the events so far
  bool covered_any_ = false;
  std::vector<Block> blocks_;  // two: those read last
};

// A record as an event of its own.
struct MemoryEventRow {
  Nanos time_ns;
  std::uint32_t row;
  bool is_failure;  // out of memory

  friend bool operator<(const MemoryEventRow& a, const MemoryEventRow& b) {
    if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
    return a.is_failure != b.is_failure ? b.is_failure : a.row < b.row;
  }
};

// The records of all processes. Ask it about events in the order of their begins.
class MemoryOfEvents {
 public:
  explicit MemoryOfEvents(const Trace& trace);

  // Calls visit(MemoryEventRow) for records that no event contains and that are before `begin_ns`,
  // in the order of their times. Failed requests are among them wherever they are.
  template <typename Visit>
  void pass(Nanos begin_ns, const Visit& visit) {
    for (auto& [process, records] : records_) {
      records.pass(begin_ns, [this](std::uint32_t row, Nanos time_ns) {
        found_.push_back({time_ns, row, false});
      });
    }
    for (; next_failure_ < failures_.size() && failures_[next_failure_].time_ns < begin_ns;
         ++next_failure_)
      found_.push_back(failures_[next_failure_]);
    if (found_.empty()) return;
    sort_found();
    for (const MemoryEventRow& event : found_) visit(event);
    found_.clear();
  }
  // What an event of this track sums up to, after pass() for its begin.
  MemorySums inside(TrackId track, Nanos end_ns) {
    MemoryRecords* const records = records_of(process_of(track));
    return records != nullptr ? records->inside(end_ns) : MemorySums();
  }

 private:
  std::uint32_t process_of(TrackId track);
  MemoryRecords* records_of(std::uint32_t process);
  void sort_found();

  const TrackTable& tracks_;
  std::map<std::uint32_t, MemoryRecords> records_;  // by process
  std::vector<MemoryEventRow> failures_;            // in order
  std::size_t next_failure_ = 0;
  std::vector<MemoryEventRow> found_;
  // Neighbours are nearly always on one track.
  TrackId last_track_;
  std::uint32_t process_of_last_track_ = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t last_process_ = std::numeric_limits<std::uint32_t>::max();
  MemoryRecords* last_records_ = nullptr;  // of last_process_, if it has any
};

}  // namespace sonde::detail
