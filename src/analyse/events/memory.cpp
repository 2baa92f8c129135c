// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Bytes that were allocated and freed while an event ran.

#include <algorithm>
#include <map>

#include "analyse/events/event_data.h"

namespace sonde::detail {
namespace {

enum class Side : std::uint8_t { Cpu, Device, Neither };

Side side_of(DeviceType type) {
  switch (type) {
    case DeviceType::Cpu:
    case DeviceType::Mkldnn:
    case DeviceType::Ideep:
      return Side::Cpu;
    case DeviceType::Cuda:
    case DeviceType::PrivateUse1:
    case DeviceType::Hip:
    case DeviceType::Xpu:
      return Side::Device;
    default:
      return Side::Neither;
  }
}

bool is_out_of_memory(const AllocationTable& allocations, std::uint32_t row) {
  return (allocations.flags[row] & AllocationFlags::kOutOfMemory) != 0;
}

// The records of one process in time order, with running sums, so that the sum between two of them
// is a subtraction.
class Records {
 public:
  explicit Records(const AllocationTable& allocations) : allocations_(allocations) {}

  // In order of rows.
  void add(std::uint32_t row) {
    if (rows_.empty()) {
      if (count_ == 0) first_row_ = row;
      if (row == first_row_ + count_) {
        ++count_;
        return;
      }
      for (std::uint32_t i = 0; i < count_; ++i) rows_.push_back(first_row_ + i);
    }
    rows_.push_back(row);
    ++count_;
  }

  // After the last add().
  void sum_up() {
    const auto is_earlier = [this](std::uint32_t a, std::uint32_t b) {
      return allocations_.time_ns[a] < allocations_.time_ns[b];
    };
    if (!is_in_order()) {
      for (std::uint32_t i = 0; rows_.size() < count_; ++i) rows_.push_back(first_row_ + i);
      std::stable_sort(rows_.begin(), rows_.end(), is_earlier);
    }
    Sums sums;
    sums_.reserve(count_ / kRowsPerSum + 1);
    for (std::size_t i = 0; i < count_; ++i) {
      if (i % kRowsPerSum == 0) sums_.push_back(sums);
      add_to(sums, i);
    }
    if (count_ % kRowsPerSum == 0) sums_.push_back(sums);
  }

  struct Sums {
    std::int64_t cpu = 0;
    std::int64_t device = 0;
  };
  // What the records inside of an event sum up to. Events must come in the order of their begins.
  Sums inside(Nanos begin_ns, Nanos end_ns) {
    find_alone_before(begin_ns);
    cover(end_ns);
    for (; at_ < count_ && time_ns(at_) < begin_ns; ++at_) add_to(before_, at_);
    // Most events have few records: these are added up one by one.
    Sums sums;
    const std::size_t few = std::min(count_, at_ + kRowsPerSum);
    std::size_t i = at_;
    for (; i < few && time_ns(i) <= end_ns; ++i) add_to(sums, i);
    if (i < few || i == count_) return sums;
    const Sums until = sums_before(first_after(end_ns));
    return {until.cpu - before_.cpu, until.device - before_.device};
  }

  // Rows that no event contains; after the last event.
  const std::vector<std::uint32_t>& alone() {
    find_alone_before(std::numeric_limits<Nanos>::max());
    return alone_;
  }

 private:
  static constexpr std::size_t kRowsPerSum = 16;

  std::uint32_t row(std::size_t i) const {
    return rows_.empty() ? first_row_ + static_cast<std::uint32_t>(i) : rows_[i];
  }
  Nanos time_ns(std::size_t i) const { return allocations_.time_ns[row(i)]; }

  bool is_in_order() const {
    for (std::size_t i = 1; i < count_; ++i) {
      if (time_ns(i) < time_ns(i - 1)) return false;
    }
    return true;
  }

  void add_to(Sums& sums, std::size_t i) const {
    const std::uint32_t at = row(i);
    const Side side = side_of(allocations_.device_type[at]);
    if (side == Side::Cpu) sums.cpu += allocations_.bytes[at];
    if (side == Side::Device) sums.device += allocations_.bytes[at];
  }

  // Of all records before the i-th.
  Sums sums_before(std::size_t i) const {
    Sums sums = sums_[i / kRowsPerSum];
    for (std::size_t k = i / kRowsPerSum * kRowsPerSum; k < i; ++k) add_to(sums, k);
    return sums;
  }

  // The first record from at_ on that is after `end_ns`, searched in steps that double, because
  // most events are short.
  std::size_t first_after(Nanos end_ns) const {
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

  // Records before `begin_ns` that no event so far contains are alone, because later events begin
  // later.
  void find_alone_before(Nanos begin_ns) {
    for (; checked_ < count_ && time_ns(checked_) < begin_ns; ++checked_) {
      if (!covered_any_ || time_ns(checked_) > covered_to_ns_) alone_.push_back(row(checked_));
    }
  }

  void cover(Nanos end_ns) {
    covered_to_ns_ = covered_any_ ? std::max(covered_to_ns_, end_ns) : end_ns;
    covered_any_ = true;
  }

  const AllocationTable& allocations_;
  std::size_t count_ = 0;
  std::uint32_t first_row_ = 0;
  std::vector<std::uint32_t> rows_;  // empty while they follow one another from first_row_ on
  std::vector<Sums> sums_;           // before each kRowsPerSum-th record
  std::size_t at_ = 0;               // where the search for the next event begins
  Sums before_;                      // of the records before that
  Nanos covered_to_ns_ = 0;          // the latest end of the events so far
  bool covered_any_ = false;
  std::size_t checked_ = 0;  // records that are known to be alone or not
  std::vector<std::uint32_t> alone_;
};

class MemoryAttribution {
 public:
  explicit MemoryAttribution(EventData& data)
      : data_(data), allocations_(data.trace.allocations()) {}

  void run() {
    if (allocations_.empty()) return;
    group_by_process();
    data_.cpu_bytes.clear();
    data_.device_bytes.assign_zeros(data_.size());
    for (std::size_t event = 0; event < data_.size(); ++event) {
      const Records::Sums sums = data_.has(event, kEventDevice) ? Records::Sums() : inside(event);
      data_.cpu_bytes.push_back(sums.cpu);
      data_.device_bytes.set(event, sums.device);
    }
    add_memory_events();
  }

 private:
  // Neighbours are nearly always on one track.
  std::uint32_t process_of(TrackId track) {
    if (track.valid() && track != last_track_) {
      last_track_ = track;
      process_of_last_track_ = data_.trace.tracks().process[track].value();
    }
    return track.valid() ? process_of_last_track_ : kNoEvent;
  }

  void group_by_process() {
    std::uint32_t last_process = kNoEvent;
    Records* last = nullptr;
    for (std::uint32_t row = 0; row < allocations_.size(); ++row) {
      if (is_out_of_memory(allocations_, row)) continue;
      const std::uint32_t process = process_of(allocations_.track[row]);
      if (last == nullptr || process != last_process)
        last = &records_.try_emplace(process, allocations_).first->second;
      last_process = process;
      last->add(row);
    }
    for (auto& [process, records] : records_) records.sum_up();
  }

  // Neighbouring events nearly always belong to the same process.
  Records* records_of(std::uint32_t process) {
    if (process != last_process_ || last_records_ == nullptr) {
      const auto found = records_.find(process);
      last_process_ = process;
      last_records_ = found != records_.end() ? &found->second : nullptr;
    }
    return last_records_;
  }

  Records::Sums inside(std::size_t event) {
    Records* const records = records_of(process_of(data_.spans->track[SpanId(data_.row[event])]));
    if (records == nullptr) return {};
    const EventData::Times times = data_.times(event);
    return records->inside(times.begin_ns, times.end_ns);
  }

  void add_memory_events() {
    std::vector<std::uint32_t> rows;
    for (auto& [process, records] : records_) {
      const std::vector<std::uint32_t>& alone = records.alone();
      rows.insert(rows.end(), alone.begin(), alone.end());
    }
    std::sort(rows.begin(), rows.end());
    for (std::uint32_t row = 0; row < allocations_.size(); ++row) {
      if (is_out_of_memory(allocations_, row)) rows.push_back(row);
    }
    if (!rows.empty()) insert(rows);
  }

  // Inserts each record at its time, after events that begin at the same time, because those last
  // longer.
  void insert(const std::vector<std::uint32_t>& rows) {
    for (const std::uint32_t row : rows) append(row);
    const std::size_t count = data_.size();
    std::vector<std::uint32_t> order(count);
    for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (data_.begin_ns(a) != data_.begin_ns(b)) return data_.begin_ns(a) < data_.begin_ns(b);
      return data_.end_ns(a) > data_.end_ns(b);
    });
    std::vector<std::uint32_t> place(count);
    for (std::uint32_t i = 0; i < count; ++i) place[order[i]] = i;
    for (std::uint32_t& kernel : data_.kernels) kernel = place[kernel];
    const auto reorder = [&order](auto& column) {
      std::decay_t<decltype(column)> sorted(column.null_value());
      sorted.pack();
      for (const std::uint32_t event : order) sorted.push_back(column[event]);
      column = std::move(sorted);
    };
    const auto reorder_sparse = [&order, count](auto& column) {
      auto sorted = column;
      sorted.assign_zeros(count);
      for (std::size_t i = 0; i < order.size(); ++i) sorted.set(i, column[order[i]]);
      std::swap(column, sorted);
    };
    reorder(data_.row);
    reorder(data_.name);
    reorder(data_.flags);
    reorder(data_.thread);
    reorder_sparse(data_.kernels_first);
    reorder_sparse(data_.kernels_count);
    reorder(data_.cpu_bytes);
    reorder_sparse(data_.device_bytes);
  }

  void append(std::uint32_t row) {
    const Side side = side_of(allocations_.device_type[row]);
    const bool failed = is_out_of_memory(allocations_, row);
    const std::int64_t bytes = failed ? 0 : allocations_.bytes[row];
    data_.row.push_back(row);
    data_.name.push_back(data_.made_up(failed ? MadeUpName::OutOfMemory : MadeUpName::Memory));
    data_.flags.push_back(kEventMemory);
    data_.thread.push_back(allocations_.track[row].value());
    data_.kernels_first.push_back(0);
    data_.kernels_count.push_back(0);
    data_.cpu_bytes.push_back(side == Side::Cpu ? bytes : 0);
    data_.device_bytes.push_back(side == Side::Device ? bytes : 0);
  }

  EventData& data_;
  const AllocationTable& allocations_;
  std::map<std::uint32_t, Records> records_;
  TrackId last_track_;
  std::uint32_t process_of_last_track_ = kNoEvent;
  std::uint32_t last_process_ = kNoEvent;
  Records* last_records_ = nullptr;  // of last_process_, if it has any
};

}  // namespace

void attribute_memory(EventData& data) {
  MemoryAttribution(data).run();
}

}  // namespace sonde::detail
