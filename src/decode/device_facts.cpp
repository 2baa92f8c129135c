// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What sources say about devices besides the work on them: properties, memory, facts, losses.

#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "decode/device_rows.h"
#include "wire/device.h"

namespace sonde {

using detail::ExtendedKind;
using detail::FieldUnpacker;

StringId DeviceRows::text_of(std::uint32_t name) const {
  return recording_.names[recording_.names.find(name)].name;
}

void DeviceRows::add_devices() {
  for_each_record(ExtendedKind::Device, [this](std::span<const std::uint64_t> words) {
    sonde_device_properties device = {};
    detail::device_fields(device, FieldUnpacker(words.data()));
    const auto number = [](std::uint32_t value) {
      return value != 0 ? static_cast<std::int32_t>(value) : -1;
    };
    DeviceRow row;
    row.process = process_;
    row.type = known_or(device.type, DeviceType::Unknown);
    row.index = device.index;
    row.name = text_of(device.name);
    if (device.total_memory_bytes != 0)
      row.total_memory_bytes = static_cast<std::int64_t>(device.total_memory_bytes);
    if (device.compute_major != 0) {
      row.compute_major = static_cast<std::int32_t>(device.compute_major);
      row.compute_minor = static_cast<std::int32_t>(device.compute_minor);
    }
    row.multiprocessors = number(device.multiprocessors);
    row.warp_size = number(device.warp_size);
    row.max_threads_per_block = number(device.max_threads_per_block);
    row.max_threads_per_multiprocessor = number(device.max_threads_per_multiprocessor);
    row.registers_per_block = number(device.registers_per_block);
    row.registers_per_multiprocessor = number(device.registers_per_multiprocessor);
    row.shared_bytes_per_block = number(device.shared_bytes_per_block);
    row.shared_bytes_per_block_optin = number(device.shared_bytes_per_block_optin);
    row.shared_bytes_per_multiprocessor = number(device.shared_bytes_per_multiprocessor);
    row.clock_khz = number(device.clock_khz);
    row.memory_clock_khz = number(device.memory_clock_khz);
    row.memory_bus_bits = number(device.memory_bus_bits);
    devices_[{device.type, device.index}] = row;  // each window repeats them
  });
  for (const auto& [key, row] : devices_) builder_.devices().push_back(row);
}

// The allocator of a tensor library takes memory in large blocks and hands out small ones. If it
// reports a device, this memory is left out, because it would count twice.
void DeviceRows::add_memory() {
  AllocationTable& rows = builder_.allocations();
  std::set<std::pair<DeviceType, std::int32_t>> told;
  if (has_records(ExtendedKind::DeviceAllocation)) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      told.emplace(rows.device_type[i], rows.device_index[i]);
  }
  for_each_record(ExtendedKind::DeviceAllocation, [&](std::span<const std::uint64_t> words) {
    sonde_device_allocation memory = {};
    detail::device_allocation_fields(memory, FieldUnpacker(words.data()));
    const AllocationRow row = allocation_row(memory);
    if (told.contains({row.device_type, row.device_index})) return;
    if (window_of(row.time_ns, row.time_ns) >= 0) {
      rows.push_back(row);
    } else {
      ++memory_out_of_window_;
    }
  });
}

AllocationRow DeviceRows::allocation_row(const sonde_device_allocation& memory) const {
  AllocationRow row;
  row.time_ns = clock_.to_ns(memory.time_ns);
  row.address = memory.address;
  row.bytes = memory.bytes;
  row.memory_kind = known_or(memory.memory_kind, MemoryKind::Unknown);
  // Pinned memory belongs to the host.
  const bool is_host =
      row.memory_kind == MemoryKind::Pinned || row.memory_kind == MemoryKind::Pageable;
  row.device_type = is_host ? DeviceType::Cpu : known_or(memory.device_type, DeviceType::Unknown);
  row.device_index = is_host ? -1 : memory.device_index;
  row.span = calls_.find(process_, static_cast<std::int64_t>(memory.correlation));
  if (row.span.valid()) row.track = builder_.spans().track[row.span];
  return row;
}

// Call it before the session's own metadata is added: a later value wins.
void DeviceRows::add_metadata() {
  std::vector<MetadataBlock> facts;
  for_each_record(ExtendedKind::Metadata, [&](std::span<const std::uint64_t> words) {
    const auto text = [this](std::uint64_t name) {
      const StringId found = text_of(static_cast<std::uint32_t>(name));
      return std::string(found.valid() ? builder_.strings()[found] : std::string_view());
    };
    facts.push_back({text(words[0]), text(words[0] >> 32)});
  });
  recording_.metadata.insert(recording_.metadata.begin(), std::make_move_iterator(facts.begin()),
                             std::make_move_iterator(facts.end()));
}

void DeviceRows::add_losses() {
  std::map<std::pair<LedgerKind, std::uint32_t>, std::uint64_t> losses;
  for_each_record(ExtendedKind::SourceLoss, [&](std::span<const std::uint64_t> words) {
    const auto kind = known_or(static_cast<std::uint8_t>(words[0] >> 32), LedgerKind::Note);
    std::uint64_t& count = losses[{kind, static_cast<std::uint32_t>(words[0])}];
    // What is measured again replaces what was known before.
    if (kind == LedgerKind::EventCostPs) count = 0;
    count = kind == LedgerKind::ClockErrorNs ? std::max(count, words[1]) : count + words[1];
  });
  for (const auto& [key, count] : losses) {
    const StringId text = text_of(key.second);
    const std::string detail(text.valid() ? builder_.strings()[text] : std::string_view());
    builder_.add_ledger(key.first, count, "source", detail, process_);
  }
  const auto note = [this](LedgerKind kind, std::uint64_t count, std::string_view detail) {
    if (count > 0) builder_.add_ledger(kind, count, "reader", detail, process_);
  };
  if (calls_.empty()) {  // they were not requested
    note(LedgerKind::Note, uncorrelated_,
         "kernels, copies or fills without an operator: calls were not recorded");
  } else {
    note(LedgerKind::Uncorrelated, uncorrelated_, "device work without the call that launched it");
  }
  note(LedgerKind::OutOfWindow, out_of_window_, "device work outside the windows");
  note(LedgerKind::OutOfWindow, memory_out_of_window_, "device memory outside the windows");
  note(LedgerKind::Undecodable, undecodable_, "device work at impossible times");
  note(LedgerKind::WorkMissing, work_missing_, "in a recording that was cut short");
}

}  // namespace sonde
