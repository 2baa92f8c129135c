// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/events/memory.h"

#include <algorithm>

namespace sonde::detail {
namespace {

constexpr std::uint32_t kNoProcess = std::numeric_limits<std::uint32_t>::max();

}  // namespace

void MemoryRecords::add(std::uint32_t first_row, const RecordBlock& rows, std::size_t first,
                        std::size_t count) {
  if (count_ == 0) first_row_ = first_row;
  if (rows_.empty() && first_row != first_row_ + count_) {
    for (std::uint32_t i = 0; i < count_; ++i) rows_.push_back(first_row_ + i);
  }
  for (std::uint32_t i = 0; !rows_.empty() && i < count; ++i) rows_.push_back(first_row + i);
  bool is_in_order = is_in_order_;
  for (std::size_t i = first; i < first + count; ++i) {
    if (count_++ % kRowsPerSum == 0) sums_.push_back(all_);
    all_.add(rows.device_type[i], rows.bytes[i]);
    is_in_order = is_in_order && rows.time_ns[i] >= last_ns_;
    last_ns_ = rows.time_ns[i];
  }
  is_in_order_ = is_in_order;
}

void MemoryRecords::close() {
  if (!is_in_order_) {
    for (std::uint32_t i = 0; rows_.size() < count_; ++i) rows_.push_back(first_row_ + i);
    std::stable_sort(rows_.begin(), rows_.end(), [this](std::uint32_t a, std::uint32_t b) {
      return allocations_->time_ns[a] < allocations_->time_ns[b];
    });
    sum_up();
  }
  if (count_ % kRowsPerSum == 0) sums_.push_back(all_);
  blocks_.resize(2);
  if (count_ > 0) next_ns_ = time_ns(0);
}

void MemoryRecords::sum_up() {
  sums_.clear();
  all_ = {};
  for (std::size_t i = 0; i < count_; ++i) {
    if (i % kRowsPerSum == 0) sums_.push_back(all_);
    all_.add(allocations_->device_type[row(i)], allocations_->bytes[row(i)]);
  }
}

const MemoryRecords::Block& MemoryRecords::read_block(std::size_t number) {
  Block& block = blocks_[number % 2];
  block.number = number;
  const std::size_t first = number * kRecordsAtOnce;
  const std::size_t count = std::min(kRecordsAtOnce, count_ - first);
  if (rows_.empty()) {
    block.read(*allocations_, first_row_ + first, count);
    return block;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t row = rows_[first + i];
    block.time_ns[i] = allocations_->time_ns[row];
    block.bytes[i] = allocations_->bytes[row];
    block.device_type[i] = allocations_->device_type[row];
  }
  return block;
}

MemorySums MemoryRecords::inside(Nanos end_ns) {
  covered_to_ns_ = covered_any_ ? std::max(covered_to_ns_, end_ns) : end_ns;
  covered_any_ = true;
  MemorySums sums;
  if (at_ == count_ || next_ns_ > end_ns) return sums;
  // Most events have few records: these are added up one by one.
  const std::size_t few = std::min(count_, at_ + kRowsPerSum);
  for (std::size_t i = at_; i < few; ++i) {
    const Block& block = block_of(i);
    const std::size_t k = i % kRecordsAtOnce;
    if (block.time_ns[k] > end_ns) return sums;
    sums.add(block.device_type[k], block.bytes[k]);
  }
  if (few == count_) return sums;
  const MemorySums until = sums_before(first_after(end_ns));
  const MemorySums before = sums_before(at_);
  return {until.cpu - before.cpu, until.device - before.device};
}

// Of all records before the i-th.
MemorySums MemoryRecords::sums_before(std::size_t i) const {
  MemorySums sums = sums_[i / kRowsPerSum];
  for (std::size_t k = i / kRowsPerSum * kRowsPerSum; k < i; ++k)
    sums.add(allocations_->device_type[row(k)], allocations_->bytes[row(k)]);
  return sums;
}

// The first record from at_ on that is after `end_ns`, searched in steps that double, because most
// events are short.
std::size_t MemoryRecords::first_after(Nanos end_ns) const {
  std::size_t low = at_;
  std::size_t step = 1;
  while (low + step < count_ && time_ns(low + step - 1) <= end_ns) {
    low += step;
    step *= 2;
  }
  std::size_t high = std::min(count_, low + step);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (time_ns(middle) <= end_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

MemoryOfEvents::MemoryOfEvents(const Trace& trace) : tracks_(trace.tracks()) {
  const AllocationTable& allocations = trace.allocations();
  RecordBlock block;
  std::array<std::uint8_t, kRecordsAtOnce> flags{};
  std::array<TrackId, kRecordsAtOnce> track{};
  for (std::size_t row = 0; row < allocations.size(); row += kRecordsAtOnce) {
    const std::size_t count = std::min(kRecordsAtOnce, allocations.size() - row);
    block.read(allocations, row, count);
    allocations.flags.read(row, count, flags.data());
    allocations.track.read(row, count, track.data());
    for (std::size_t i = 0; i < count;) {
      if ((flags[i] & AllocationFlags::kOutOfMemory) != 0) {
        failures_.push_back({block.time_ns[i], static_cast<std::uint32_t>(row + i), true});
        ++i;
        continue;
      }
      const std::size_t first = i;
      while (i < count && track[i] == track[first] &&
             (flags[i] & AllocationFlags::kOutOfMemory) == 0)
        ++i;
      const std::uint32_t process = process_of(track[first]);
      records_.try_emplace(process, allocations)
          .first->second.add(static_cast<std::uint32_t>(row + first), block, first, i - first);
    }
  }
  for (auto& [process, records] : records_) records.close();
  std::sort(failures_.begin(), failures_.end());
}

std::uint32_t MemoryOfEvents::process_of(TrackId track) {
  if (!track.valid()) return kNoProcess;
  if (track != last_track_) {
    last_track_ = track;
    process_of_last_track_ = tracks_.process[track].value();
  }
  return process_of_last_track_;
}

MemoryRecords* MemoryOfEvents::records_of(std::uint32_t process) {
  if (process != last_process_ || last_records_ == nullptr) {
    const auto found = records_.find(process);
    last_process_ = process;
    last_records_ = found != records_.end() ? &found->second : nullptr;
  }
  return last_records_;
}

void MemoryOfEvents::sort_found() {
  std::sort(found_.begin(), found_.end());
}

}  // namespace sonde::detail
