// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/module_time.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "analyse/events/module_calls.h"
#include "analyse/time/launches.h"
#include "base/sum.h"

namespace sonde {
namespace {

constexpr std::uint32_t kNoModule = 0xffffffff;

class ModuleTimes {
 public:
  explicit ModuleTimes(const Trace& trace)
      : trace_(trace), spans_(trace.spans()), launches_(trace), calls_(trace) {}

  std::vector<ModuleTime> make(const MemoryProfile* memory) {
    find_calls();
    if (nodes_.empty() && trace_.modules().size() > 0) find_operators();
    if (memory != nullptr) add_memory(*memory);
    return in_tree_order();
  }

 private:
  void find_calls() {
    std::unordered_map<std::uint32_t, std::uint32_t> node_of;  // by span
    for (const SpanId span : trace_.all_spans()) {
      if (!calls_.is(span)) continue;
      std::uint32_t below = kNoModule;
      for (SpanId at = spans_.parent[span]; at.valid() && below == kNoModule;
           at = spans_.parent[at])
        if (const auto found = node_of.find(at.value()); found != node_of.end())
          below = found->second;
      const std::uint32_t node =
          child(below, spans_.name[span].value(), [&] { return std::string(calls_.name(span)); });
      node_of.emplace(span.value(), node);
      add(node, span);
    }
  }

  // Operators that no operator of the same module contains; times go to the modules around, too.
  void find_operators() {
    for (const SpanId span : trace_.all_spans()) {
      const ModuleId module = spans_.module[span];
      if (!module.valid() || is_on_device(spans_.kind[span])) continue;
      const SpanId parent = spans_.parent[span];
      const ModuleId around = parent.valid() ? spans_.module[parent] : ModuleId();
      for (ModuleId at = module; at.valid(); at = trace_.modules().parent[at])
        if (!is_within(around, at)) add(node_of(at), span);
    }
  }

  bool is_within(ModuleId module, ModuleId around) const {
    while (module.valid() && module != around) module = trace_.modules().parent[module];
    return module.valid();
  }

  std::uint32_t node_of(ModuleId module) {
    const ModuleId parent = trace_.modules().parent[module];
    const std::uint32_t below = parent.valid() ? node_of(parent) : kNoModule;
    return child(below, module.value(), [&] {
      const std::string_view name = trace_.string(trace_.modules().name[module]);
      const std::string_view type = trace_.string(trace_.modules().class_name[module]);
      return name.empty() ? std::string(type) : std::string(name);
    });
  }

  template <typename Name>
  std::uint32_t child(std::uint32_t below, std::uint32_t key, Name name) {
    const std::uint64_t both = std::uint64_t{below} << 32 | key;
    const auto [found, is_new] =
        children_.try_emplace(both, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) {
      ModuleTime node;
      node.name = name();
      node.parent = below == kNoModule ? found->second : below;
      node.depth = below == kNoModule ? 0 : nodes_[below].depth + 1;
      nodes_.push_back(std::move(node));
    }
    return found->second;
  }

  void add(std::uint32_t at, SpanId span) {
    ModuleTime& node = nodes_[at];
    nodes_of_[span.value()].push_back(at);
    ++node.calls;
    detail::add_to(node.host_ns, spans_.duration_ns[span]);
    for (const detail::Launch& launch : launches_.below(span)) {
      ++node.launches;
      detail::add_to(node.device_ns, spans_.duration_ns[launch.work]);
    }
    if (!node.longest.valid() || spans_.duration_ns[span] > spans_.duration_ns[node.longest])
      node.longest = span;
  }

  // Of accelerators, or else of the host.
  void add_memory(const MemoryProfile& memory) {
    const auto is_host = [](const DeviceMemory& one) { return one.device.type == DeviceType::Cpu; };
    const bool only_host = std::all_of(memory.devices.begin(), memory.devices.end(), is_host);
    for (const DeviceMemory& device : memory.devices) {
      if (is_host(device) && !only_host) continue;
      for (const MemoryBlock& block : device.blocks) add_block(block);
    }
  }

  void add_block(const MemoryBlock& block) {
    if (!block.birth.valid()) return;
    const bool is_freed = block.death.valid();
    const Nanos freed_ns = is_freed ? trace_.allocations().time_ns[block.death] : 0;
    for (SpanId at = block.span; at.valid(); at = spans_.parent[at]) {
      const auto found = nodes_of_.find(at.value());
      if (found == nodes_of_.end()) continue;
      const bool is_kept = !is_freed || freed_ns > trace_.end_ns(at);
      for (const std::uint32_t node : found->second) {
        detail::add_to(nodes_[node].allocated_bytes, block.bytes);
        if (is_kept) detail::add_to(nodes_[node].kept_bytes, block.bytes);
      }
    }
  }

  // Each module is followed by those inside it.
  std::vector<ModuleTime> in_tree_order() const {
    std::vector<std::vector<std::uint32_t>> inside(nodes_.size());
    std::vector<std::uint32_t> next;
    for (std::uint32_t i = static_cast<std::uint32_t>(nodes_.size()); i-- > 0;)
      (nodes_[i].parent == i ? next : inside[nodes_[i].parent]).push_back(i);
    std::vector<ModuleTime> out;
    std::vector<std::uint32_t> place(nodes_.size());
    while (!next.empty()) {
      const std::uint32_t i = next.back();
      next.pop_back();
      place[i] = static_cast<std::uint32_t>(out.size());
      out.push_back(nodes_[i]);
      out.back().parent = place[nodes_[i].parent];
      next.insert(next.end(), inside[i].begin(), inside[i].end());
    }
    return out;
  }

  const Trace& trace_;
  const SpanTable& spans_;
  detail::Launches launches_;
  std::vector<ModuleTime> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  detail::ModuleCalls calls_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> nodes_of_;  // by span
};

}  // namespace

std::vector<ModuleTime> module_times(const Trace& trace, const MemoryProfile* memory) {
  return ModuleTimes(trace).make(memory);
}

}  // namespace sonde
