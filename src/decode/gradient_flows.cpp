// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/gradient_flows.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace sonde {
namespace {

struct Key {
  std::int64_t sequence_number;
  std::int64_t thread;
  friend bool operator==(const Key&, const Key&) = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const noexcept {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>(static_cast<std::uint64_t>(key.sequence_number) * kOdd +
                                    static_cast<std::uint64_t>(key.thread));
  }
};

class GradientFlows {
 public:
  explicit GradientFlows(TraceBuilder& builder)
      : builder_(builder), spans_(builder.spans()), tracks_(builder.tracks()) {}

  void add() {
    for (const SpanId span : by_end()) {
      if (spans_.forward_thread[span] > 0) {
        link(span);
      } else {
        note_forward(span);
      }
    }
  }

 private:
  std::vector<SpanId> by_end() const {
    std::vector<SpanId> numbered;
    for (std::uint32_t i = 0; i < spans_.size(); ++i) {
      if (spans_.sequence_number[i] >= 0) numbered.emplace_back(i);
    }
    const auto end_ns = [this](SpanId span) {
      Nanos end = 0;
      const bool too_late =
          __builtin_add_overflow(spans_.start_ns[span], spans_.duration_ns[span], &end);
      return too_late ? INT64_MAX : end;
    };
    std::stable_sort(numbered.begin(), numbered.end(),
                     [&](SpanId a, SpanId b) { return end_ns(a) < end_ns(b); });
    return numbered;
  }

  void note_forward(SpanId span) {
    const TrackId track = spans_.track[span];
    const std::int64_t thread = track.valid() ? tracks_.logical_id[track] : 0;
    if (thread == 0) return;
    const auto [found, is_new] = forward_.try_emplace({spans_.sequence_number[span], thread}, span);
    if (!is_new && spans_.start_ns[span] >= spans_.start_ns[found->second]) found->second = span;
  }

  void link(SpanId gradient) {
    const auto found =
        forward_.find({spans_.sequence_number[gradient], spans_.forward_thread[gradient]});
    if (found == forward_.end()) return;
    FlowRow flow;
    flow.id = ++last_id_;
    flow.kind = FlowKind::ForwardBackward;
    flow.from_span = found->second;
    flow.to_span = gradient;
    builder_.flows().push_back(flow);
    forward_.erase(found);
  }

  TraceBuilder& builder_;
  const SpanTable& spans_;
  const TrackTable& tracks_;
  std::unordered_map<Key, SpanId, KeyHash> forward_;
  std::int64_t last_id_ = 0;
};

}  // namespace

void add_gradient_flows(TraceBuilder& builder) {
  if (builder.spans().sequence_number.materialised()) GradientFlows(builder).add();
}

}  // namespace sonde
