// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/gradient_flows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Operators of two threads, numbered 1 and 2 by torch.
class Ops {
 public:
  Ops() {
    for (int thread = 1; thread <= 2; ++thread) {
      const TrackId track = builder_.tracks().push_back({.id = 100 + thread});
      builder_.tracks().logical_id.set(track, thread);
    }
  }
  void op(const char* name, int thread, Nanos start, Nanos end, int sequence, int forward = 0) {
    SpanRow row;
    row.name = builder_.intern(name);
    row.kind = SpanKind::CpuOp;
    row.track = TrackId(static_cast<std::uint32_t>(thread - 1));
    row.start_ns = start;
    row.duration_ns = end - start;
    row.sequence_number = sequence;
    row.forward_thread = forward;
    builder_.spans().push_back(row);
  }
  // "from -> to" for each arrow.
  std::vector<std::string> arrows() {
    add_gradient_flows(builder_);
    const Trace trace = *std::move(builder_).build();
    std::vector<std::string> found;
    for (std::size_t i = 0; i < trace.flows().size(); ++i) {
      EXPECT_EQ(trace.flows().kind[i], FlowKind::ForwardBackward);
      EXPECT_EQ(trace.flows().id[i], static_cast<std::int64_t>(i) + 1);
      found.push_back(std::string(trace.name(trace.flows().from_span[i])) + " -> " +
                      std::string(trace.name(trace.flows().to_span[i])));
    }
    return found;
  }

 private:
  TraceBuilder builder_;
};

TEST(GradientFlows, LeadFromAnOperatorToItsGradient) {
  Ops ops;
  ops.op("mm", 1, 0, 10, 4);
  ops.op("relu", 1, 20, 30, 5);
  ops.op("ReluBackward", 2, 40, 50, 5, 1);
  ops.op("MmBackward", 2, 60, 70, 4, 1);
  EXPECT_THAT(ops.arrows(), ElementsAre("relu -> ReluBackward", "mm -> MmBackward"));
}

TEST(GradientFlows, BeginAtTheOperatorThatBeganLastAndEndAtTheGradientThatEndedFirst) {
  Ops ops;
  ops.op("linear", 1, 0, 30, 4);
  ops.op("addmm", 1, 5, 20, 4);
  ops.op("evaluate_function: AddmmBackward", 2, 40, 60, 4, 1);
  ops.op("AddmmBackward", 2, 45, 55, 4, 1);
  EXPECT_THAT(ops.arrows(), ElementsAre("addmm -> AddmmBackward"));
}

TEST(GradientFlows, KeepTheNumbersOfThreadsApart) {
  Ops ops;
  ops.op("of one", 1, 0, 10, 4);
  ops.op("of two", 2, 0, 10, 4);
  ops.op("Backward", 1, 20, 30, 4, 2);
  EXPECT_THAT(ops.arrows(), ElementsAre("of two -> Backward"));
}

TEST(GradientFlows, NeedAnOperatorThatWasSeen) {
  Ops ops;
  ops.op("mm", 1, 0, 10, 4);
  ops.op("without a number", 1, 0, 10, -1);
  ops.op("Backward", 2, 20, 30, 9, 1);
  EXPECT_THAT(ops.arrows(), IsEmpty());
}

}  // namespace
}  // namespace sonde
