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
    if (nodes_.size() == 1) nodes_.clear();
    return std::move(nodes_);
  }

 private:
  void add(SpanId work) {
    path_.clear();
    for (SpanId at = spans_.launch[work]; at.valid(); at = spans_.parent[at]) path_.push_back(at);
    const Nanos duration_ns = spans_.duration_ns[work];
    std::uint32_t at = 0;
    take(at, duration_ns);
    for (auto span = path_.rbegin(); span != path_.rend(); ++span) {
      at = child(at, *span);
      take(at, duration_ns);
    }
    at = child(at, work);
    take(at, duration_ns);
    detail::add_to(nodes_[at].self_ns, duration_ns);
  }

  void take(std::uint32_t node, Nanos duration_ns) {
    detail::add_to(nodes_[node].total_ns, duration_ns);
    ++nodes_[node].count;
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
  std::vector<FlameNode> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // by parent and name
};

}  // namespace

std::vector<FlameNode> device_flame(const Trace& trace) {
  return DeviceFlame(trace).make();
}

}  // namespace sonde
