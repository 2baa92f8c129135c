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
struct Records {
  std::vector<std::uint32_t> rows;
  std::vector<Nanos> times_ns;
  std::vector<std::int64_t> cpu_bytes;  // of all records before
  std::vector<std::int64_t> device_bytes;
  std::size_t at = 0;       // where the search for the next event begins
  Nanos covered_to_ns = 0;  // the latest end of the events so far
  bool covered_any = false;
  std::size_t first_uncovered_check = 0;
  std::vector<std::uint32_t> alone;  // rows that no event contains

  void sum_up(const AllocationTable& allocations) {
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      return allocations.time_ns[a] < allocations.time_ns[b];
    });
    std::int64_t cpu = 0;
    std::int64_t device = 0;
    for (const std::uint32_t row : rows) {
      times_ns.push_back(allocations.time_ns[row]);
      cpu_bytes.push_back(cpu);
      device_bytes.push_back(device);
      const Side side = side_of(allocations.device_type[row]);
      if (side == Side::Cpu) cpu += allocations.bytes[row];
      if (side == Side::Device) device += allocations.bytes[row];
    }
    cpu_bytes.push_back(cpu);
    device_bytes.push_back(device);
  }

  // Records before `begin_ns` that no event so far contains are alone, because later events begin
  // later.
  void find_alone_before(Nanos begin_ns) {
    for (; first_uncovered_check < times_ns.size() && times_ns[first_uncovered_check] < begin_ns;
         ++first_uncovered_check) {
      if (!covered_any || times_ns[first_uncovered_check] > covered_to_ns) {
        alone.push_back(rows[first_uncovered_check]);
      }
    }
  }

  void cover(Nanos end_ns) {
    covered_to_ns = covered_any ? std::max(covered_to_ns, end_ns) : end_ns;
    covered_any = true;
  }
};

class MemoryAttribution {
 public:
  explicit MemoryAttribution(EventData& data)
      : data_(data), allocations_(data.trace.allocations()) {}

  void run() {
    if (allocations_.empty()) return;
    group_by_process();
    data_.cpu_bytes.assign(data_.size(), 0);
    data_.device_bytes.assign(data_.size(), 0);
    for (std::size_t event = 0; event < data_.size(); ++event) {
      if (!data_.has(event, kEventDevice)) add_to(event);
    }
    add_memory_events();
  }

 private:
  std::uint32_t process_of(TrackId track) const {
    return track.valid() ? data_.trace.tracks().process[track].value() : kNoEvent;
  }

  void group_by_process() {
    for (std::uint32_t row = 0; row < allocations_.size(); ++row) {
      if (is_out_of_memory(allocations_, row)) continue;
      records_[process_of(allocations_.track[row])].rows.push_back(row);
    }
    for (auto& [process, records] : records_) records.sum_up(allocations_);
  }

  void add_to(std::size_t event) {
    const auto found =
        records_.find(process_of(data_.trace.spans().track[SpanId(data_.row[event])]));
    if (found == records_.end()) return;
    Records& records = found->second;
    const std::vector<Nanos>& times = records.times_ns;
    const Nanos begin = data_.begin_ns[event];
    const Nanos end = data_.end_ns[event];
    records.find_alone_before(begin);
    records.cover(end);
    while (records.at < times.size() && times[records.at] < begin) ++records.at;
    const auto first = times.begin() + static_cast<std::ptrdiff_t>(records.at);
    const auto last = static_cast<std::size_t>(
        std::upper_bound(first, gallop(first, times.end(), end), end) - times.begin());
    data_.cpu_bytes[event] = records.cpu_bytes[last] - records.cpu_bytes[records.at];
    data_.device_bytes[event] = records.device_bytes[last] - records.device_bytes[records.at];
  }

  // The first position after `end`, searched in steps that double, because most events are short.
  using TimeIterator = std::vector<Nanos>::const_iterator;
  static TimeIterator gallop(TimeIterator first, TimeIterator last, Nanos end) {
    std::ptrdiff_t step = 1;
    while (step < last - first && *(first + step) <= end) step *= 2;
    return first + std::min(step + 1, last - first);
  }

  void add_memory_events() {
    std::vector<std::uint32_t> rows;
    for (auto& [process, records] : records_) {
      records.find_alone_before(std::numeric_limits<Nanos>::max());
      rows.insert(rows.end(), records.alone.begin(), records.alone.end());
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
      if (data_.begin_ns[a] != data_.begin_ns[b]) return data_.begin_ns[a] < data_.begin_ns[b];
      return data_.end_ns[a] > data_.end_ns[b];
    });
    std::vector<std::uint32_t> place(count);
    for (std::uint32_t i = 0; i < count; ++i) place[order[i]] = i;
    for (std::uint32_t& kernel : data_.kernels) kernel = place[kernel];
    const auto reorder = [&order](auto& column) {
      auto sorted = column;
      for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = column[order[i]];
      column.swap(sorted);
    };
    reorder(data_.row);
    reorder(data_.name);
    reorder(data_.flags);
    reorder(data_.thread);
    reorder(data_.begin_ns);
    reorder(data_.end_ns);
    reorder(data_.kernels_first);
    reorder(data_.kernels_count);
    reorder(data_.cpu_bytes);
    reorder(data_.device_bytes);
  }

  void append(std::uint32_t row) {
    const Side side = side_of(allocations_.device_type[row]);
    const bool failed = is_out_of_memory(allocations_, row);
    const std::int64_t bytes = failed ? 0 : allocations_.bytes[row];
    data_.row.push_back(row);
    data_.name.push_back(data_.made_up(failed ? MadeUpName::OutOfMemory : MadeUpName::Memory));
    data_.flags.push_back(kEventMemory);
    data_.thread.push_back(allocations_.track[row].value());
    data_.begin_ns.push_back(allocations_.time_ns[row]);
    data_.end_ns.push_back(allocations_.time_ns[row]);
    data_.kernels_first.push_back(0);
    data_.kernels_count.push_back(0);
    data_.cpu_bytes.push_back(side == Side::Cpu ? bytes : 0);
    data_.device_bytes.push_back(side == Side::Device ? bytes : 0);
  }

  EventData& data_;
  const AllocationTable& allocations_;
  std::map<std::uint32_t, Records> records_;
};

}  // namespace

void attribute_memory(EventData& data) {
  MemoryAttribution(data).run();
}

}  // namespace sonde::detail
