// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <unordered_map>

#include "analyse/time/device_work.h"
#include "base/sum.h"
#include "sonde/analyse/host_time.h"
#include "trace/known_names.h"

namespace sonde {
namespace {

class DeviceFlame {
 public:
  explicit DeviceFlame(const Trace& trace) : trace_(trace), spans_(trace.spans()) {}

  std::vector<FlameNode> make() {
    nodes_.push_back({.name = "all devices", .parent = 0, .depth = 0});
    for (const SpanId span : trace_.all_spans())
      if (detail::keeps_busy(trace_, span)) add(span);
    if (nodes_.size() == 1) return {};
    // A node's children come after it.
    for (std::size_t node = nodes_.size() - 1; node > 0; --node) {
      FlameNode& parent = nodes_[nodes_[node].parent];
      detail::add_to(parent.total_ns, nodes_[node].total_ns);
      parent.count += nodes_[node].count;
    }
    return std::move(nodes_);
  }

 private:
  // Its times become those of its ancestors, too, at the end.
  void add(SpanId work) {
    const Nanos duration_ns = spans_.duration_ns[work];
    FlameNode& node = nodes_[child(node_of(spans_.launch[work]), work)];
    detail::add_to(node.total_ns, duration_ns);
    detail::add_to(node.self_ns, duration_ns);
    ++node.count;
  }

  // Each span is looked up once, however much work there is inside it.
  std::uint32_t node_of(SpanId host) {
    if (known_.empty()) known_.resize(spans_.size());
    path_.clear();
    for (; host.valid() && known_[host.value()] == 0; host = spans_.parent[host])
      path_.push_back(host);
    std::uint32_t at = host.valid() ? known_[host.value()] : 0;
    for (auto span = path_.rbegin(); span != path_.rend(); ++span)
      known_[span->value()] = at = child(at, *span);
    return at;
  }

  std::uint32_t child(std::uint32_t below, SpanId span) {
    const bool is_step = spans_.kind[span] == SpanKind::Step;
    const StringId name = is_step ? StringId() : spans_.name[span];
    const std::uint64_t key = std::uint64_t{below} << 32 | name.value();
    const auto [found, is_new] =
        children_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new)
      nodes_.push_back({.name = std::string(name.valid() ? trace_.string(name) : kAllSteps),
                        .parent = below,
                        .depth = nodes_[below].depth + 1});
    return found->second;
  }

  const Trace& trace_;
  const SpanTable& spans_;
  std::vector<SpanId> path_;
  std::vector<std::uint32_t> known_;  // the node of each span of the host; 0: not known yet
  std::vector<FlameNode> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // by parent and name
};

}  // namespace

std::vector<FlameNode> device_flame(const Trace& trace) {
  return DeviceFlame(trace).make();
}

}  // namespace sonde
