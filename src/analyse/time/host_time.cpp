// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/host_time.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "analyse/time/device_work.h"
#include "base/sum.h"
#include "trace/known_names.h"

namespace sonde {
namespace {

constexpr std::uint32_t kRoot = 0;
// Paths of all threads together; a page shows some thousands. Names with numbers in them could make
// one for each span.
constexpr std::size_t kMostPaths = 1 << 18;
constexpr std::size_t kFewPaths = 16;  // of any thread
// Paths from this depth on take at most half of what a thread may have, so that they leave room for
// shorter paths that come later.
constexpr std::uint32_t kDeep = 5;
// Marks a span whose path was left out, in node_of_.
constexpr std::uint32_t kLeftOut = 1U << 31;

void sort_by_own_time(std::vector<NameTime>& names) {
  std::sort(names.begin(), names.end(), [](const NameTime& a, const NameTime& b) {
    return a.self_ns != b.self_ns ? a.self_ns > b.self_ns : a.name < b.name;
  });
}

// Sums by name, for names of the trace.
class ByName {
 public:
  explicit ByName(const Trace& trace) : trace_(trace), sums_(trace.strings().size()) {}

  void add(StringId name, Nanos duration_ns) {
    if (!name.valid()) return;
    Sum& sum = sums_[name.index()];
    detail::add_to(sum.self_ns, duration_ns);
    detail::add_to(sum.total_ns, duration_ns);
    ++sum.count;
  }
  void take_child(StringId name, Nanos duration_ns) {
    if (name.valid()) detail::take_from(sums_[name.index()].self_ns, duration_ns);
  }
  std::vector<NameTime> sorted() const {
    std::vector<NameTime> out;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const Sum& sum = sums_[i];
      if (sum.count == 0) continue;
      out.push_back(
          {std::string(trace_.string(StringId(i))), sum.self_ns, sum.total_ns, sum.count});
    }
    sort_by_own_time(out);
    return out;
  }

 private:
  struct Sum {
    Nanos self_ns = 0;
    Nanos total_ns = 0;
    std::uint64_t count = 0;
  };
  const Trace& trace_;
  std::vector<Sum> sums_;
};

class HostTimeMaker {
 public:
  explicit HostTimeMaker(const Trace& trace)
      : trace_(trace), spans_(trace.spans()), operators_(trace), scopes_(trace) {}

  HostTime make() {
    node_of_.assign(spans_.size(), kRoot);
    covered_ns_.assign(spans_.size(), std::numeric_limits<Nanos>::min());
    nodes_.push_back({});
    paths_of_thread_ =
        std::max(kFewPaths, kMostPaths / std::max<std::size_t>(trace_.tracks().size(), 1));
    for (std::size_t row = 0; row < trace_.tracks().size(); ++row) {
      const TrackId track(row);
      if (trace_.tracks().kind[track] == TrackKind::Thread) add_thread(track);
    }
    HostTime out;
    out.operators = operators_.sorted();
    out.scopes = scopes_.sorted();
    if (nodes_.size() > 1) out.flame = named();
    return out;
  }

 private:
  struct Node {
    StringId name;
    TrackId thread;  // of a node for a thread
    std::uint32_t parent = kRoot;
    std::uint32_t depth = 0;
    Nanos total_ns = 0;
    Nanos self_ns = 0;
    std::uint64_t count = 0;
  };

  // Whether it nests with the other spans of its thread.
  bool nests(SpanId span) const {
    const SpanKind kind = spans_.kind[span];
    return (spans_.flags[span] & SpanFlags::kAsync) == 0 && kind != SpanKind::TraceSpan &&
           !is_launched(kind);
  }

  void add_thread(TrackId track) {
    std::uint32_t thread = kRoot;
    for (const SpanId span : trace_.track_spans(track)) {
      if (!nests(span)) continue;
      if (thread == kRoot) {
        thread = new_thread(track);
        most_nodes_ = nodes_.size() + paths_of_thread_;
      }
      add(span, thread);
    }
  }

  std::uint32_t new_thread(TrackId track) {
    nodes_.push_back({.name = {}, .thread = track, .parent = kRoot, .depth = 1});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  void add(SpanId span, std::uint32_t thread) {
    const SpanId parent = spans_.parent[span];
    const bool is_inside = parent.valid() && node_of_[parent.index()] != kRoot;
    const std::uint32_t below = is_inside ? node_of_[parent.index()] : thread;
    const Nanos duration_ns = spans_.duration_ns[span];
    const std::uint32_t at = child(below, span);
    node_of_[span.index()] = at;
    const bool is_shown = (at & kLeftOut) == 0;
    if (is_shown) {
      detail::add_to(nodes_[at].total_ns, duration_ns);
      detail::add_to(nodes_[at].self_ns, duration_ns);
      ++nodes_[at].count;
    }
    const Nanos uncovered_ns = is_inside ? cover(parent, span) : 0;
    if (is_inside) {
      if (is_shown) detail::take_from(nodes_[below].self_ns, uncovered_ns);
    } else {
      if (!is_shown) detail::add_to(nodes_[thread].self_ns, duration_ns);
      detail::add_to(nodes_[thread].total_ns, duration_ns);
      detail::add_to(nodes_[kRoot].total_ns, duration_ns);
    }
    if (ByName* const names = names_of(span)) names->add(spans_.name[span], duration_ns);
    if (!is_inside) return;
    if (ByName* const names = names_of(parent))
      names->take_child(spans_.name[parent], uncovered_ns);
  }

  ByName* names_of(SpanId span) {
    const SpanKind kind = spans_.kind[span];
    return kind == SpanKind::CpuOp ? &operators_ : is_user_range(kind) ? &scopes_ : nullptr;
  }

  // The part of a span that no earlier sibling covers. Siblings may overlap.
  Nanos cover(SpanId parent, SpanId span) {
    Nanos& reached_ns = covered_ns_[parent.index()];
    const Nanos from_ns = std::max(spans_.start_ns[span], reached_ns);
    const Nanos to_ns = std::min(trace_.end_ns(span), trace_.end_ns(parent));
    reached_ns = std::max(reached_ns, to_ns);
    return std::max<Nanos>(to_ns - from_ns, 0);
  }

  // The node of a span, or the one below which it is left out, marked.
  std::uint32_t child(std::uint32_t below, SpanId span) {
    if ((below & kLeftOut) != 0) return below;
    const bool is_step = spans_.kind[span] == SpanKind::Step;
    const StringId name = is_step ? StringId() : spans_.name[span];
    const std::uint64_t key = std::uint64_t{below} << 32 | name.value();
    const auto found = children_.find(key);
    if (found != children_.end()) return found->second;
    const std::size_t kept_free = nodes_[below].depth + 1 >= kDeep ? paths_of_thread_ / 2 : 0;
    if (nodes_.size() + kept_free >= most_nodes_) return below | kLeftOut;
    const auto made = static_cast<std::uint32_t>(nodes_.size());
    children_.emplace(key, made);
    nodes_.push_back(
        {.name = name, .thread = {}, .parent = below, .depth = nodes_[below].depth + 1});
    return made;
  }

  std::string text(const Node& node) const {
    if (node.depth == 0) return "all threads";
    if (!node.thread.valid())
      return node.name.valid() ? std::string(trace_.string(node.name)) : std::string(kAllSteps);
    const std::string_view name = trace_.string(trace_.tracks().name[node.thread]);
    return name.empty() ? "thread " + std::to_string(trace_.tracks().id[node.thread])
                        : std::string(name);
  }

  std::vector<FlameNode> named() const {
    std::vector<FlameNode> out;
    out.reserve(nodes_.size());
    for (const Node& node : nodes_)
      out.push_back({text(node), node.parent, node.depth, node.total_ns, node.self_ns, node.count});
    return out;
  }

  const Trace& trace_;
  const SpanTable& spans_;
  ByName operators_;
  ByName scopes_;
  std::vector<Node> nodes_;
  std::size_t paths_of_thread_ = 0;
  std::size_t most_nodes_ = 0;          // when those of this thread have been counted
  std::vector<std::uint32_t> node_of_;  // of each span
  std::vector<Nanos> covered_ns_;       // by span: up to where its children cover it
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // by parent and name
};

}  // namespace

HostTime host_time(const Trace& trace) {
  return HostTimeMaker(trace).make();
}

std::vector<NameTime> device_work_by_name(const Trace& trace) {
  ByName work(trace);
  for (const SpanId span : trace.all_spans()) {
    if (detail::keeps_busy(trace, span))
      work.add(trace.spans().name[span], trace.spans().duration_ns[span]);
  }
  return work.sorted();
}

}  // namespace sonde
