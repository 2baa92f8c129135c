// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/operators/flops.h"

#include <gtest/gtest.h>

#include "analyse/testing/op_trace.h"
#include "sonde/analyse/events.h"

namespace sonde {
namespace {

using testing::OpTrace;
constexpr ArgumentKind kList = ArgumentKind::ScalarList;

std::uint64_t flops_of(OpTrace& t) {
  t.flag("with_flops");
  const EventList events = function_events(t.build());
  return events[0].flops();
}

TEST(Flops, AMatrixProductIsTwoTimesItsThreeSides) {
  OpTrace t;
  t.op("aten::mm", 0, 1).tensor({10, 20}).tensor({20, 30});
  EXPECT_EQ(flops_of(t), 2u * 10 * 20 * 30);
}

TEST(Flops, AddmmDoesNotCountTheAddition) {
  OpTrace t;
  t.op("aten::addmm", 0, 1).tensor({30}).tensor({10, 20}).tensor({20, 30}).scalar("1").scalar("1");
  EXPECT_EQ(flops_of(t), 2u * 10 * 20 * 30);
}

TEST(Flops, BatchesAreMultiplied) {
  OpTrace t;
  t.op("aten::bmm", 0, 1).tensor({4, 10, 20}).tensor({4, 20, 30});
  EXPECT_EQ(flops_of(t), 2u * 4 * 10 * 20 * 30);
  OpTrace u;
  u.op("aten::baddbmm", 0, 1).tensor({4, 10, 30}).tensor({4, 10, 20}).tensor({4, 20, 30});
  EXPECT_EQ(flops_of(u), 2u * 4 * 10 * 20 * 30);
}

TEST(Flops, AConvolutionCountsItsOutputPlaces) {
  OpTrace t;
  t.op("aten::conv2d", 0, 1)
      .tensor({4, 5, 33, 33})
      .tensor({6, 5, 3, 3})
      .tensor({6})
      .scalar("[2, 1]", kList)
      .scalar("[1, 0]", kList)
      .scalar("[1, 2]", kList)
      .scalar("1");
  const std::uint64_t high = (33 + 2 - 1 * 2 - 1) / 2 + 1;
  const std::uint64_t wide = (33 - 2 * 2 - 1) / 1 + 1;
  EXPECT_EQ(flops_of(t), 2u * 4 * high * wide * 3 * 3 * 5 * 6);
}

TEST(Flops, GroupsDivideAConvolution) {
  OpTrace t;
  t.op("aten::conv2d", 0, 1)
      .tensor({1, 8, 4, 4})
      .tensor({8, 4, 1, 1})
      .none()
      .scalar("[1, 1]", kList)
      .scalar("[0, 0]", kList)
      .scalar("[1, 1]", kList)
      .scalar("2");
  EXPECT_EQ(flops_of(t), 2u * 1 * 4 * 4 * 8 * 8 / 2);
}

TEST(Flops, OfAConvolutionThatMakesNoSenseAreNone) {
  for (const auto& [stride, padding, groups] :
       {std::tuple{"[0, 1]", "[0, 0]", "1"}, std::tuple{"[1, 1]", "same", "1"},
        std::tuple{"[1, 1]", "[0, 0]", "0"}, std::tuple{"[1]", "[0, 0]", "1"},
        std::tuple{"", "[0, 0]", "1"}}) {
    OpTrace t;
    t.op("aten::conv2d", 0, 1)
        .tensor({1, 8, 4, 4})
        .tensor({8, 8, 1, 1})
        .none()
        .scalar(stride, kList)
        .scalar(padding, kList)
        .scalar("[1, 1]", kList)
        .scalar(groups);
    EXPECT_EQ(flops_of(t), 0u) << stride << padding << groups;
  }
}

TEST(Flops, AdditionAndMultiplicationCountTheFirstOperand) {
  OpTrace t;
  t.op("aten::add", 0, 1).tensor({3, 4}).tensor({2, 3, 4}).scalar("1");
  EXPECT_EQ(flops_of(t), 12u);
  OpTrace u;
  u.op("aten::mul", 0, 1).tensor({}).tensor({5});
  EXPECT_EQ(flops_of(u), 1u);  // a tensor without dimensions has one element
}

TEST(Flops, OtherOperatorsAndMissingArgumentsHaveNone) {
  for (const char* name : {"aten::add_", "aten::linear", "aten::matmul", "mm"}) {
    OpTrace t;
    t.op(name, 0, 1).tensor({3, 4}).tensor({4, 5});
    EXPECT_EQ(flops_of(t), 0u) << name;
  }
  OpTrace one;
  one.op("aten::mm", 0, 1).tensor({3, 4});
  EXPECT_EQ(flops_of(one), 0u);
  OpTrace scalar;
  scalar.op("aten::add", 0, 1).scalar("3").tensor({4});
  EXPECT_EQ(flops_of(scalar), 0u);
  OpTrace empty;
  empty.op("aten::mm", 0, 1).tensor({0, 0}).tensor({0, 5});
  EXPECT_EQ(flops_of(empty), 0u);
}

TEST(Flops, AreNotCountedUnlessTheRecordingAskedForThem) {
  OpTrace t;
  t.op("aten::mm", 0, 1).tensor({10, 20}).tensor({20, 30});
  const EventList events = function_events(t.build());
  EXPECT_EQ(events[0].flops(), 0u);
}

}  // namespace
}  // namespace sonde
