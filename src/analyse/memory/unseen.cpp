// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds tensors that existed before and after the recording, in traces that do not name tensors.
// They are neither allocated nor freed, so only the inputs of operators show them.
//
//   parameters   each has one AccumulateGrad in every backward pass, which receives its gradient
//   state        how many tensors an optimiser keeps per parameter, by the optimiser's name
//   inputs       what a call received when no block was alive that could have held it
//
// Blocks that may be the same tensor are assumed to be. An optimiser is assumed to have all
// parameters that get gradients.

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "analyse/memory/memory_data.h"
#include "analyse/operators/tensor_size.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

using DeviceNumber = std::uint16_t;

// Tensors that cannot be told apart.
struct Kind {
  DeviceNumber device;
  std::int64_t bytes;
  StringId dtype;

  friend bool operator<(const Kind& a, const Kind& b) {
    return std::tuple(a.device, a.bytes, a.dtype.value()) <
           std::tuple(b.device, b.bytes, b.dtype.value());
  }
};
using Counts = std::map<Kind, std::int64_t>;

// CUDA's allocator rounds sizes up to multiples.
std::int64_t given_out(std::int64_t bytes) {
  constexpr std::int64_t kUnit = 512;
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

// How many tensors of a parameter's size one of PyTorch's optimisers keeps for it.
struct KnownOptimizer {
  std::string_view name;
  int tensors;
  std::string_view more_with;  // an operator that runs only if there is one more
  std::string_view or_with;
};
constexpr KnownOptimizer kOptimizers[] = {
    {"Adam", 2, "aten::_foreach_maximum_", "aten::maximum"},
    {"AdamW", 2, "aten::_foreach_maximum_", "aten::maximum"},
    {"NAdam", 2, "", ""},
    {"RAdam", 2, "", ""},
    {"Adamax", 2, "", ""},
    {"Adadelta", 2, "", ""},
    {"Adagrad", 1, "", ""},
    {"RMSprop", 1, "", ""},
    {"Rprop", 2, "", ""},
    {"ASGD", 1, "", ""},
    {"SGD", 0, "aten::_foreach_mul_", "aten::mul_"},
};

class UnseenTensors {
 public:
  UnseenTensors(const Trace& trace, FollowedBlocks& followed, Flow& flow,
                std::vector<MemoryCategory>& categories)
      : trace_(trace),
        followed_(followed),
        flow_(flow),
        categories_(categories),
        gradients_(trace, [](std::string_view name) { return name == kAccumulateGrad; }),
        transfers_(trace, is_transfer) {}

  std::size_t run() {
    const std::size_t before = followed_.blocks.size();
    find_devices();
    add_up_bytes();
    if (gradients_.has_any()) note_kept_blocks();
    find_parameters();
    find_states();
    for (const auto& [kind, count] : unseen_parameters_)
      add(kind, count, MemoryCategory::Parameter);
    for (const auto& [kind, count] : unseen_states_)
      add(kind, count, MemoryCategory::OptimizerState);
    find_inputs(before);
    return followed_.blocks.size() - before;
  }

 private:
  // Finds the device that each track allocates most on. Each autograd thread serves one device.
  void find_devices() {
    std::map<std::pair<std::uint32_t, DeviceNumber>, std::uint64_t> counts;
    const AllocationTable& allocations = trace_.allocations();
    // Neighbours are nearly always on one thread and one device.
    std::pair<std::uint32_t, DeviceNumber> last_place;
    std::uint64_t* last_count = nullptr;
    for (std::size_t i = 0; i < followed_.in_order.size(); ++i) {
      const AllocationId row = followed_.in_order[i];
      const std::uint32_t block = followed_.block_of_allocation[row.index()];
      if (block == kNoBlock) continue;
      const std::pair place(allocations.track[row].value(), followed_.device_of_block[block]);
      if (last_count == nullptr || place != last_place) last_count = &counts[place];
      last_place = place;
      ++*last_count;
    }
    std::map<std::uint32_t, std::uint64_t> most;
    for (const auto& [place, count] : counts) {
      if (count <= most[place.first]) continue;
      most[place.first] = count;
      device_of_track_[place.first] = place.second;
    }
  }

  std::optional<DeviceNumber> device_of(SpanId span) {
    const TrackId track = trace_.spans().track[span];
    if (track != last_track_ || !has_last_track_) {
      has_last_track_ = true;
      const auto found = device_of_track_.find(track.value());
      last_track_ = track;
      last_device_ = found != device_of_track_.end() ? std::optional(found->second) : std::nullopt;
    }
    return last_device_;
  }

  void add_up_bytes() {
    bytes_.assign(followed_.devices.size(), 0);
    for (std::size_t i = 0; i < followed_.blocks.size(); ++i)
      bytes_[followed_.device_of_block[i]] += followed_.blocks.bytes(i);
  }

  // Notes when blocks lived that may be parameters or state. Nothing else is known about them.
  void note_kept_blocks() {
    const AllocationTable& allocations = trace_.allocations();
    for (std::uint32_t i = 0; i < followed_.blocks.size(); ++i) {
      if (categories_[flow_.version(i, 0)] != MemoryCategory::Unknown) continue;
      const MemoryBlock block = followed_.blocks[i];
      Lives& lives = kept_[{followed_.device_of_block[i], given_out(block.bytes)}];
      lives.births.push_back(block.birth.valid() ? allocations.time_ns[block.birth]
                                                 : trace_.first_ns());
      if (block.death.valid()) lives.deaths.push_back(allocations.time_ns[block.death]);
    }
    for (auto& [size, lives] : kept_) {
      std::sort(lives.births.begin(), lives.births.end());
      std::sort(lives.deaths.begin(), lives.deaths.end());
    }
  }

  std::int64_t kept_at(const Kind& kind, Nanos time_ns) const {
    const auto found = kept_.find({kind.device, given_out(kind.bytes)});
    if (found == kept_.end()) return 0;
    const auto until = [time_ns](const std::vector<Nanos>& times) {
      return std::upper_bound(times.begin(), times.end(), time_ns) - times.begin();
    };
    return until(found->second.births) - until(found->second.deaths);
  }

  void find_parameters() {
    const std::vector<BackwardPhase> phases = backward_phases(trace_, flow_);
    auto phase = phases.begin();
    Counts in_phase;
    const auto end_phase = [&] {
      for (const auto& [kind, count] : in_phase) {
        std::int64_t& most = parameters_[kind];
        most = std::max(most, count);
        std::int64_t& unseen = unseen_parameters_[kind];
        unseen = std::max(unseen, count - kept_at(kind, phase->end_ns));
      }
      in_phase.clear();
    };
    for (const SpanId leaf : flow_.leaves) {
      if (!gradients_.has(leaf)) continue;
      const Nanos start_ns = trace_.spans().start_ns[leaf];
      while (phase != phases.end() && phase->end_ns < start_ns) {
        end_phase();
        ++phase;
      }
      if (phase == phases.end()) return;
      const std::optional<DeviceNumber> device = device_of(leaf);
      const IdRange<OpArgumentId> arguments = trace_.arguments(leaf);
      if (!device || arguments.empty()) continue;
      const std::int64_t bytes = tensor_bytes(trace_, arguments[0]);
      if (bytes > 0) ++in_phase[{*device, bytes, trace_.op_arguments().dtype[arguments[0]]}];
    }
    if (phase != phases.end()) end_phase();
  }

  // It is unknown which optimiser has which parameters, so each is assumed to keep as little as the
  // smallest optimiser.
  void find_states() {
    std::int64_t each = std::numeric_limits<std::int64_t>::max();
    for (const SpanId span : trace_.all_spans()) {
      if (!is_user_range(trace_.spans().kind[span])) continue;
      const std::string_view name = trace_.name(span);
      if (!name.starts_with(kOptimizerPrefix)) continue;
      const std::string_view rest = name.substr(kOptimizerPrefix.size());
      optimizer_steps_.push_back(span);
      each = std::min(each, states_of(rest.substr(0, rest.find('.')), span));
    }
    for (const SpanId step : optimizer_steps_) {
      for (const auto& [kind, count] : parameters_) {
        const std::int64_t seen_parameters = count - unseen_parameters_[kind];
        const std::int64_t seen =
            std::max<std::int64_t>(0, kept_at(kind, trace_.end_ns(step)) - seen_parameters);
        std::int64_t& unseen = unseen_states_[kind];
        unseen = std::max(unseen, each * count - seen);
      }
    }
  }

  std::int64_t states_of(std::string_view optimizer, SpanId step) const {
    for (const KnownOptimizer& known : kOptimizers) {
      if (known.name != optimizer) continue;
      const bool more = runs_in(step, known.more_with) || runs_in(step, known.or_with);
      return known.tensors + (more ? 1 : 0);
    }
    return 0;
  }

  bool runs_in(SpanId around, std::string_view name) const {
    if (name.empty()) return false;
    const SpanTable& spans = trace_.spans();
    auto leaf = std::lower_bound(
        flow_.leaves.begin(), flow_.leaves.end(), spans.start_ns[around],
        [&spans](SpanId span, Nanos time_ns) { return spans.start_ns[span] < time_ns; });
    for (; leaf != flow_.leaves.end() && spans.start_ns[*leaf] <= trace_.end_ns(around); ++leaf) {
      if (trace_.name(*leaf) == name && spans.track[*leaf] == spans.track[around]) return true;
    }
    return false;
  }

  void add(const Kind& kind, std::int64_t count, MemoryCategory category) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (kind.bytes > kMostBytes - bytes_[kind.device]) return;
      bytes_[kind.device] += kind.bytes;
      MemoryBlock block;
      block.bytes = kind.bytes;
      followed_.blocks.push_back(block);
      followed_.device_of_block.push_back(kind.device);
      followed_.is_tensor.push_back(1);
      categories_.push_back(category);
    }
    if (count <= 0) return;
    std::int64_t& largest = largest_[{kind.device, kind.dtype.value()}];
    largest = std::max(largest, kind.bytes);
  }

  // The largest live block of each device, as time goes on.
  class Alive {
   public:
    explicit Alive(std::size_t devices) : devices_(devices) {}
    void add(DeviceNumber device, std::int64_t bytes, Nanos death_ns, Nanos now_ns) {
      Device& of = devices_[device];
      if (of.blocks.size() >= of.limit) of.drop_dead(now_ns);
      of.blocks.emplace_back(bytes, death_ns);
      std::push_heap(of.blocks.begin(), of.blocks.end());
    }
    std::int64_t largest(DeviceNumber device, Nanos time_ns) {
      std::vector<Block>& blocks = devices_[device].blocks;
      while (!blocks.empty() && blocks.front().second < time_ns) {
        std::pop_heap(blocks.begin(), blocks.end());
        blocks.pop_back();
      }
      return blocks.empty() ? 0 : blocks.front().first;
    }

   private:
    using Block = std::pair<std::int64_t, Nanos>;  // bytes, death
    struct Device {
      // The dead below others are dropped when the heap has grown to twice what was alive.
      void drop_dead(Nanos now_ns) {
        std::erase_if(blocks, [now_ns](const Block& block) { return block.second < now_ns; });
        std::make_heap(blocks.begin(), blocks.end());
        limit = std::max(kLeastLimit, 2 * blocks.size());
      }
      std::vector<Block> blocks;  // a heap
      std::size_t limit = kLeastLimit;
    };
    static constexpr std::size_t kLeastLimit = 4096;
    std::vector<Device> devices_;
  };

  // Only calls that allocate on their thread's device count. Their tensors are on that device too,
  // except for calls that copy tensors from elsewhere.
  void find_inputs(std::size_t blocks_seen) {
    const AllocationTable& allocations = trace_.allocations();
    const MemoryBlocks& blocks = followed_.blocks;
    const AllocationOrder& in_order = followed_.in_order;
    Alive alive(followed_.devices.size());
    const auto add_alive = [&](std::size_t block, Nanos now_ns) {
      const AllocationId death = blocks.death(block);
      alive.add(followed_.device_of_block[block], blocks.bytes(block),
                death.valid() ? allocations.time_ns[death] : trace_.last_ns(), now_ns);
    };
    for (std::size_t i = 0; i < blocks_seen; ++i) {
      if (!blocks.birth(i).valid()) add_alive(i, std::numeric_limits<Nanos>::min());
    }
    std::size_t next = 0;  // in in_order
    auto step = optimizer_steps_.begin();
    for (std::size_t i = 0; i < flow_.leaves.size(); ++i) {
      const SpanId leaf = flow_.leaves[i];
      const Nanos start_ns = trace_.spans().start_ns[leaf];
      for (; next < in_order.size() && allocations.time_ns[in_order[next]] < start_ns; ++next) {
        const AllocationId row = in_order[next];
        const std::uint32_t block = followed_.block_of_allocation[row.index()];
        if (block != kNoBlock && blocks.birth(block) == row)
          add_alive(block, allocations.time_ns[row]);
      }
      while (step != optimizer_steps_.end() && trace_.end_ns(*step) < start_ns) ++step;
      const bool in_step =
          step != optimizer_steps_.end() && trace_.spans().start_ns[*step] <= start_ns;
      if (in_step || flow_.backward[i] != 0 || transfers_.has(leaf)) continue;
      const std::optional<DeviceNumber> device = device_of(leaf);
      if (device && allocates_on(*device, leaf, next)) find_inputs_of(leaf, *device, alive);
    }
  }

  static bool is_transfer(std::string_view name) {
    return name == "aten::to" || name == "aten::copy_" || name == "aten::_to_copy" ||
           name == "aten::pin_memory";
  }

  // `next` is the first allocation, in their order, that is not before the call.
  bool allocates_on(DeviceNumber device, SpanId leaf, std::size_t next) const {
    const AllocationTable& allocations = trace_.allocations();
    for (; next < followed_.in_order.size(); ++next) {
      const AllocationId row = followed_.in_order[next];
      if (allocations.time_ns[row] > trace_.end_ns(leaf)) return false;
      const std::uint32_t block = followed_.block_of_allocation[row.index()];
      if (block == kNoBlock || followed_.blocks.birth(block) != row) continue;
      if (allocations.track[row] != trace_.spans().track[leaf]) continue;
      return followed_.device_of_block[block] == device;
    }
    return false;
  }

  // A training loop calls with the same arguments millions of times: a list is looked at again only
  // if nothing alive could hold the largest of its tensors.
  void find_inputs_of(SpanId leaf, DeviceNumber device, Alive& alive) {
    const ArgumentListId list = trace_.spans().arguments[leaf];
    if (!list.valid()) return;
    const Nanos start_ns = trace_.spans().start_ns[leaf];
    if (needed_.size() <= device) needed_.resize(device + std::size_t{1});
    std::vector<std::int64_t>& needed_of_list = needed_[device];
    if (needed_of_list.empty())
      needed_of_list.assign(trace_.argument_lists().size(),
                            std::numeric_limits<std::int64_t>::max());
    std::int64_t& needed = needed_of_list[list.index()];
    if (needed == 0 || alive.largest(device, start_ns) >= needed) return;
    needed = 0;
    for (const OpArgumentId argument : trace_.arguments(leaf)) {
      const OpArgumentTable& arguments = trace_.op_arguments();
      if (arguments.role[argument] != ArgumentRole::Input || arguments.dims_count[argument] < 1)
        continue;
      const std::int64_t bytes = tensor_bytes(trace_, argument);
      const Kind kind{device, bytes, arguments.dtype[argument]};
      const auto like_it = largest_.find({device, kind.dtype.value()});
      if (bytes <= 0 || (like_it != largest_.end() && like_it->second >= bytes)) continue;
      if (alive.largest(device, start_ns) >= bytes) {
        needed = std::max(needed, bytes);
      } else {
        add(kind, 1, MemoryCategory::Input);
      }
    }
  }

  struct Lives {
    std::vector<Nanos> births;
    std::vector<Nanos> deaths;
  };

  const Trace& trace_;
  FollowedBlocks& followed_;
  Flow& flow_;
  std::vector<MemoryCategory>& categories_;
  NameSet gradients_;
  NameSet transfers_;
  std::map<std::uint32_t, DeviceNumber> device_of_track_;
  bool has_last_track_ = false;
  TrackId last_track_;
  std::optional<DeviceNumber> last_device_;                      // of last_track_
  std::map<std::pair<DeviceNumber, std::int64_t>, Lives> kept_;  // by device and size
  Counts parameters_;
  Counts unseen_parameters_;
  Counts unseen_states_;
  std::vector<SpanId> optimizer_steps_;
  std::vector<std::int64_t> bytes_;  // by device: of all its blocks
  std::map<std::pair<DeviceNumber, std::uint32_t>, std::int64_t> largest_;  // added, by type
  // By device and list of arguments: the bytes of its largest tensor that none of the added blocks
  // covers; the greatest number if nothing is known yet.
  std::vector<std::vector<std::int64_t>> needed_;
};

}  // namespace

std::size_t add_unseen_tensors(const Trace& trace, FollowedBlocks& followed, Flow& flow,
                               std::vector<MemoryCategory>& categories) {
  return UnseenTensors(trace, followed, flow, categories).run();
}

}  // namespace sonde::detail
