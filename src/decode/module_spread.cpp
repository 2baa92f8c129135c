// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/module_spread.h"

#include <cstdint>
#include <map>
#include <utility>

namespace sonde {
namespace {

class Spread {
 public:
  explicit Spread(TraceBuilder& builder) : spans_(builder.spans()), tracks_(builder.tracks()) {}

  void run() {
    // Parents come before their children.
    for (std::uint32_t i = 0; i < spans_.size(); ++i) take_from_parent(SpanId(i));
    for (std::uint32_t i = 0; i < spans_.size(); ++i) note_forward(SpanId(i));
    for (std::uint32_t i = 0; i < spans_.size(); ++i) {
      take_from_forward(SpanId(i));
      take_from_parent(SpanId(i));
    }
  }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  // sequence number and logical thread

  bool is_gradient(SpanId span) const {
    return spans_.scope[span] == RecordScope::BackwardFunction;
  }
  void take(SpanId span, ModuleId module) {
    if (!spans_.module[span].valid() && module.valid()) spans_.module.set(span, module);
  }
  void take_from_parent(SpanId span) {
    const SpanId parent = spans_.parent[span];
    if (parent.valid()) take(span, spans_.module[parent]);
  }
  // Of the operators that share a number, the innermost made the gradient.
  void note_forward(SpanId span) {
    const std::int64_t number = spans_.sequence_number[span];
    if (number < 0 || is_gradient(span) || !spans_.module[span].valid()) return;
    forward_[{number, tracks_.logical_id[spans_.track[span]]}] = spans_.module[span];
  }
  void take_from_forward(SpanId span) {
    if (!is_gradient(span)) return;
    const auto found = forward_.find({spans_.sequence_number[span], spans_.forward_thread[span]});
    if (found != forward_.end()) take(span, found->second);
  }

  SpanTable& spans_;
  const TrackTable& tracks_;
  std::map<Key, ModuleId> forward_;
};

}  // namespace

void spread_modules(TraceBuilder& builder) {
  Spread(builder).run();
}

}  // namespace sonde
