// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/flame.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "base/sum.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostNodes = 4000;
// Nodes below this fraction of the whole are left out: a third of a pixel on a wide screen. Zooming
// does not bring them back.
constexpr Nanos kParts = 5000;

// The shortest time of a node that is kept.
Nanos least_ns(const std::vector<FlameNode>& all) {
  const Nanos visible_ns = all.front().total_ns / kParts;
  std::vector<Nanos> times;
  for (const FlameNode& node : all)
    if (node.total_ns >= visible_ns) times.push_back(node.total_ns);
  if (times.size() <= kMostNodes) return visible_ns;
  const auto nth = times.begin() + static_cast<std::ptrdiff_t>(kMostNodes);
  std::nth_element(times.begin(), nth, times.end(), std::greater<>());
  return *nth + 1;
}

}  // namespace

std::vector<FlameNode> with_threads_joined(const std::vector<FlameNode>& all) {
  std::vector<FlameNode> out;
  std::vector<std::uint32_t> place(all.size(), 0);
  std::map<std::pair<std::uint32_t, std::string_view>, std::uint32_t> known;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const FlameNode& node = all[i];
    if (i == 0) out.push_back(node);
    if (node.depth < 2) continue;
    const std::uint32_t parent = place[node.parent];
    const auto [found, is_new] = known.try_emplace(std::pair(parent, std::string_view(node.name)),
                                                   static_cast<std::uint32_t>(out.size()));
    place[i] = found->second;
    if (is_new) {
      out.push_back(node);
      out.back().parent = parent;
      out.back().depth = node.depth - 1;
      continue;
    }
    FlameNode& same = out[found->second];
    add_to(same.total_ns, node.total_ns);
    add_to(same.self_ns, node.self_ns);
    same.count += node.count;
  }
  return out;
}

std::vector<FlameNode> flame_for_page(const std::vector<FlameNode>& all) {
  std::vector<FlameNode> out;
  if (all.empty()) return out;
  constexpr std::uint32_t kLeftOut = std::numeric_limits<std::uint32_t>::max();
  const Nanos least = std::max<Nanos>(least_ns(all), 1);
  std::vector<std::uint32_t> place(all.size(), kLeftOut);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint32_t parent = i == 0 ? 0 : place[all[i].parent];
    if (i > 0 && (parent == kLeftOut || all[i].total_ns < least)) continue;
    place[i] = static_cast<std::uint32_t>(out.size());
    out.push_back(all[i]);
    out.back().parent = parent;
  }
  return out;
}

}  // namespace sonde::detail
