// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds the block of each allocation, each free, each use of a tensor, and each tensor of which the
// program says what it is for.

#include <algorithm>
#include <map>
#include <utility>

#include "analyse/memory/address_map.h"
#include "analyse/memory/memory_data.h"
#include "analyse/operators/tensor_size.h"
#include "base/big_vector.h"
#include "base/run_sort.h"

namespace sonde::detail {
namespace {

// The uses of tensors by one call.
struct Call {
  Nanos start_ns;
  std::uint32_t first;  // in uses_by_span
  std::uint32_t last;
};

class BlockFollower {
 public:
  explicit BlockFollower(const Trace& trace)
      : trace_(trace),
        allocations_(trace.allocations()),
        uses_(trace.tensor_uses()),
        roles_(trace.tensor_roles()) {}

  FollowedBlocks run() {
    const std::vector<Call> calls = order_calls();
    out_.in_order = AllocationOrder(allocations_);
    out_.span_of_allocation = spans_of_allocations(trace_, out_.in_order);
    out_.block_of_allocation.pack();
    out_.block_of_allocation.resize(allocations_.size());
    make_room();
    out_.block_of_use.assign(uses_.size(), kNoBlock);
    order_roles();
    auto call = calls.begin();
    for (std::size_t i = 0; i < out_.in_order.size(); ++i) {
      const AllocationId row = out_.in_order[i];
      const Nanos time_ns = allocations_.time_ns[row];
      for (; call != calls.end() && call->start_ns <= time_ns; ++call) follow_call(*call);
      follow_roles_until(time_ns);
      follow_allocation(row);
    }
    for (; call != calls.end(); ++call) follow_call(*call);
    follow_roles_until(std::numeric_limits<Nanos>::max());
    out_.told.resize(out_.blocks.size(), MemoryCategory::Unknown);
    return std::move(out_);
  }

 private:
  using DeviceNumber = std::uint16_t;
  static constexpr std::size_t kMostDevices = 4096;

  std::vector<Call> order_calls() {
    const SpanTable& spans = trace_.spans();
    for (std::uint32_t row = 0; row < uses_.size(); ++row) {
      if (uses_.span[row].valid() && uses_.role[row] == ArgumentRole::Input)
        out_.uses_by_span.emplace_back(row);
    }
    std::vector<TensorUseId>& uses = out_.uses_by_span;
    run_sort(uses, [this](TensorUseId a, TensorUseId b) { return uses_.span[a] < uses_.span[b]; });
    std::vector<Call> calls;
    for (std::uint32_t at = 0; at < uses.size();) {
      const SpanId span = uses_.span[uses[at]];
      const std::uint32_t first = at;
      while (at < uses.size() && uses_.span[uses[at]] == span) ++at;
      calls.push_back({spans.start_ns[span], first, at});
    }
    run_sort(calls, [](const Call& a, const Call& b) { return a.start_ns < b.start_ns; });
    return calls;
  }

  void make_room() {
    std::size_t births = 0;
    allocations_.bytes.visit_stretches(
        [&births](std::size_t, const std::int64_t* bytes, std::size_t rows) {
          for (std::size_t i = 0; i < rows; ++i) births += bytes[i] > 0 ? 1 : 0;
        });
    // And some that existed before.
    const std::size_t blocks = births + births / 16 + 1024;
    out_.blocks.reserve(blocks);
    reserve_big(out_.device_of_block, blocks);
    reserve_big(out_.is_tensor, blocks);
  }

  void order_roles() {
    for (std::uint32_t row = 0; row < roles_.size(); ++row) roles_in_order_.emplace_back(row);
    run_sort(roles_in_order_, [this](TensorRoleId a, TensorRoleId b) {
      return roles_.time_ns[a] < roles_.time_ns[b];
    });
  }

  void follow_roles_until(Nanos time_ns) {
    for (; next_role_ < roles_in_order_.size(); ++next_role_) {
      const TensorRoleId row = roles_in_order_[next_role_];
      if (roles_.time_ns[row] > time_ns) return;
      const ProcessId process = process_of(roles_.track[row]);
      const std::uint64_t address = roles_.storage_address[row];
      const MemoryCategory category = category_of(roles_.purpose[row]);
      const std::uint32_t block = find_anywhere(process, address);
      if (block != kNoBlock)
        tell(block, category);
      else
        untold_[{process, address}] = category;  // from before the recording, and not used yet
    }
  }

  static MemoryCategory category_of(TensorPurpose purpose) {
    switch (purpose) {
      case TensorPurpose::Parameter:
        return MemoryCategory::Parameter;
      case TensorPurpose::Gradient:
        return MemoryCategory::Gradient;
      case TensorPurpose::OptimizerState:
        return MemoryCategory::OptimizerState;
      case TensorPurpose::None:
        break;
    }
    return MemoryCategory::Unknown;
  }

  // What was said first counts.
  void tell(std::uint32_t block, MemoryCategory category) {
    if (out_.told.size() <= block) out_.told.resize(block + 1, MemoryCategory::Unknown);
    if (out_.told[block] == MemoryCategory::Unknown) out_.told[block] = category;
  }

  // For a block that existed before the recording.
  void tell_what_was_said(std::uint32_t block, ProcessId process, std::uint64_t address) {
    if (untold_.empty()) return;
    const auto found = untold_.find({process, address});
    if (found == untold_.end()) return;
    tell(block, found->second);
    untold_.erase(found);
  }

  ProcessId process_of(TrackId track) const {
    return track.valid() ? trace_.tracks().process[track] : ProcessId();
  }

  DeviceNumber device_number(ProcessId process, DeviceType type, std::int32_t index) {
    const MemoryDevice wanted{type, type == DeviceType::Cpu ? -1 : index};
    const auto is_it = [&](const FollowedBlocks::Device& device) {
      return device.device == wanted && device.process == process;
    };
    if (last_device_ < out_.devices.size() && is_it(out_.devices[last_device_]))
      return last_device_;
    const auto found = std::find_if(out_.devices.begin(), out_.devices.end(), is_it);
    last_device_ = static_cast<DeviceNumber>(found - out_.devices.begin());
    if (found != out_.devices.end()) return last_device_;
    // Only a damaged file has more. They share the last one.
    if (out_.devices.size() == kMostDevices) return --last_device_;
    out_.devices.push_back({wanted, process, {}, {}});
    last_block_.emplace_back();
    bytes_.push_back(0);
    return last_device_;
  }

  bool is_alive(std::uint32_t block) const { return !out_.blocks.death(block).valid(); }

  std::uint32_t find_alive(DeviceNumber device, std::uint64_t address) const {
    const std::uint32_t block = last_block_[device].find(address);
    return block != AddressMap::kNone && is_alive(block) ? block : kNoBlock;
  }

  std::uint32_t add_block(DeviceNumber device, std::uint64_t address, std::int64_t bytes,
                          AllocationId birth = {}, SpanId span = {}) {
    const auto number = static_cast<std::uint32_t>(out_.blocks.size());
    out_.blocks.push_back({address, bytes, birth, {}, span, {}});
    out_.device_of_block.push_back(device);
    out_.is_tensor.push_back(0);
    last_block_[device].set(address, number);
    bytes_[device] += bytes;
    return number;
  }

  void follow_allocation(AllocationId row) {
    const DeviceNumber device =
        device_number(process_of(allocations_.track[row]), allocations_.device_type[row],
                      allocations_.device_index[row]);
    const std::int64_t bytes = allocations_.bytes[row];
    const std::int64_t size =
        bytes == std::numeric_limits<std::int64_t>::min() ? 0 : std::abs(bytes);
    if ((allocations_.flags[row] & AllocationFlags::kOutOfMemory) != 0) {
      out_.devices[device].out_of_memory.push_back(row);
    } else if (size == 0 || size > kMostBytes - bytes_[device]) {
      ++out_.devices[device].problems.without_meaning;
    } else if (bytes > 0) {
      give_birth(device, row, size);
    } else {
      release(device, row, size);
    }
  }

  void give_birth(DeviceNumber device, AllocationId row, std::int64_t size) {
    const std::uint64_t address = allocations_.address[row];
    if (const std::uint32_t before = find_alive(device, address); before != kNoBlock) {
      out_.blocks.set_death(before, row);
      out_.ended_by_birth.push_back(before);
      ++out_.devices[device].problems.double_births;
    }
    if (!untold_.empty()) untold_.erase({process_of(allocations_.track[row]), address});
    const std::uint32_t block =
        add_block(device, address, size, row, (*out_.span_of_allocation)[row.index()]);
    out_.block_of_allocation.set(row, block);
  }

  void release(DeviceNumber device, AllocationId row, std::int64_t size) {
    const std::uint64_t address = allocations_.address[row];
    std::uint32_t block = last_block_[device].find(address);
    MemoryProblems& problems = out_.devices[device].problems;
    if (block == AddressMap::kNone) {
      block = add_block(device, address, size);
      tell_what_was_said(block, process_of(allocations_.track[row]), address);
    } else if (!is_alive(block)) {
      ++problems.double_frees;
      return;
    }
    if (const std::int64_t known = out_.blocks.bytes(block); known != size) {
      if (out_.blocks.birth(block).valid()) {
        ++problems.sizes_that_differ;
      } else {
        bytes_[device] += size - known;
        out_.blocks.set_bytes(block, size);
      }
    }
    out_.blocks.set_death(block, row);
    out_.block_of_allocation.set(row, block);
  }

  // The arguments of a call and its tensors are in the same order.
  void follow_call(const Call& call) {
    const SpanId span = uses_.span[out_.uses_by_span[call.first]];
    const ProcessId process = process_of(trace_.spans().track[span]);
    const IdRange<OpArgumentId> arguments = trace_.arguments(span);
    std::size_t at = 0;
    for (std::uint32_t i = call.first; i < call.last; ++i) {
      const TensorUseId use = out_.uses_by_span[i];
      const auto wanted = std::pair(uses_.index[use], uses_.element[use]);
      while (at < arguments.size() && place_of(arguments[at]) < wanted) ++at;
      const bool known = at < arguments.size() && place_of(arguments[at]) == wanted;
      follow_use(use, process, known ? arguments[at] : OpArgumentId());
    }
  }

  std::pair<std::int32_t, std::int32_t> place_of(OpArgumentId argument) const {
    return {trace_.op_arguments().index[argument], trace_.op_arguments().element[argument]};
  }

  void follow_use(TensorUseId use, ProcessId process, OpArgumentId argument) {
    const std::uint64_t address = uses_.storage_address[use];
    if (address == 0) return;
    std::uint32_t block = kNoBlock;
    const DeviceType type =
        argument.valid() ? trace_.op_arguments().device_type[argument] : DeviceType::Unknown;
    DeviceNumber device = 0;
    if (type == DeviceType::Unknown) {
      block = find_anywhere(process, address);
      if (block == kNoBlock) device = device_number(process, DeviceType::Cpu, -1);
    } else {
      device = device_number(process, type, trace_.op_arguments().device_index[argument]);
      block = find_alive(device, address);
    }
    if (block == kNoBlock) {
      block = add_block(device, address, 0);
      tell_what_was_said(block, process, address);
    }
    out_.is_tensor[block] = 1;
    out_.block_of_use[use.index()] = block;
    grow_to(block, argument);
  }

  // Recordings do not say where the host's tensors are, and older ones say it of no tensor.
  std::uint32_t find_anywhere(ProcessId process, std::uint64_t address) const {
    for (std::size_t device = 0; device < out_.devices.size(); ++device) {
      if (out_.devices[device].process != process) continue;
      const std::uint32_t block = find_alive(static_cast<DeviceNumber>(device), address);
      if (block != kNoBlock) return block;
    }
    return kNoBlock;
  }

  // A block from before the recording is as large as the largest tensor seen in it.
  void grow_to(std::uint32_t block, OpArgumentId argument) {
    if (out_.blocks.birth(block).valid() || !argument.valid()) return;
    const std::int64_t known = out_.blocks.bytes(block);
    const std::int64_t bytes = tensor_bytes(trace_, argument);
    std::int64_t& all = bytes_[out_.device_of_block[block]];
    if (bytes <= known || bytes - known > kMostBytes - all) return;
    all += bytes - known;
    out_.blocks.set_bytes(block, bytes);
  }

  const Trace& trace_;
  const AllocationTable& allocations_;
  const TensorUseTable& uses_;
  const TensorRoleTable& roles_;
  std::vector<TensorRoleId> roles_in_order_;
  std::size_t next_role_ = 0;
  // What was said of addresses at which no block is known.
  std::map<std::pair<ProcessId, std::uint64_t>, MemoryCategory> untold_;
  FollowedBlocks out_;
  std::vector<AddressMap> last_block_;  // by device: the newest block at each address
  std::vector<std::int64_t> bytes_;     // by device: allocated so far
  DeviceNumber last_device_ = 0;
};

}  // namespace

AllocationOrder::AllocationOrder(const AllocationTable& allocations) : size_(allocations.size()) {
  bool is_in_order = true;
  Nanos last_ns = std::numeric_limits<Nanos>::min();
  allocations.time_ns.visit_stretches([&](std::size_t, const Nanos* times, std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      is_in_order = is_in_order && times[i] >= last_ns;
      last_ns = times[i];
    }
  });
  if (is_in_order) return;
  reserve_big(rows_, size_);
  for (std::uint32_t row = 0; row < size_; ++row) rows_.emplace_back(row);
  run_sort(rows_, [&allocations](AllocationId a, AllocationId b) {
    return allocations.time_ns[a] < allocations.time_ns[b];
  });
}

FollowedBlocks follow_blocks(const Trace& trace) {
  return BlockFollower(trace).run();
}

}  // namespace sonde::detail
