// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "convert/database/demangle.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint32_t> found(const std::vector<TimeRange>& ranges,
                                 const std::vector<TimeRange>& calls) {
  return innermost_ranges(ranges, calls);
}

TEST(InnermostRanges, TakesTheRangeThatBeganLast) {
  const std::vector<TimeRange> ranges = {{0, 100}, {10, 50}, {20, 30}, {60, 90}};
  EXPECT_THAT(found(ranges, {{22, 25}, {31, 40}, {55, 56}, {70, 80}, {95, 99}, {100, 101}}),
              ElementsAre(2, 1, 0, 3, 0, kNoRange));
}

TEST(InnermostRanges, DemandsMoreThanAnEndTogether) {
  EXPECT_THAT(found({{10, 20}}, {{10, 15}, {15, 20}, {11, 19}}),
              ElementsAre(kNoRange, kNoRange, 0));
}

TEST(InnermostRanges, KeepsLinesApart) {
  EXPECT_THAT(found({{0, 100, 1}, {0, 100, 2}}, {{5, 6, 2}, {5, 6, 1}, {5, 6, 3}, {5, 6, 0}}),
              ElementsAre(1, 0, kNoRange, kNoRange));
}

TEST(InnermostRanges, PassesOverARangeThatEndsDuringTheCall) {
  EXPECT_THAT(found({{0, 100}, {10, 20}}, {{15, 25}}), ElementsAre(0));
}

TEST(InnermostRanges, NeedsNoOrder) {
  EXPECT_THAT(found({{60, 90}, {0, 50}}, {{70, 71}, {1, 2}}), ElementsAre(0, 1));
}

TEST(Demangling, ReadsNamesOfKernels) {
  BoundedDemangler demangled;
  EXPECT_EQ(demangled("_Z3addPfi"), "add(float*, int)");
  EXPECT_EQ(demangled("ampere_sgemm_128x64"), "ampere_sgemm_128x64");
  EXPECT_EQ(demangled("_Znonsense"), "_Znonsense");
}

// f(A<int, int>, A<…, …>, …), where each parameter is twice as long as the one before.
std::string doubling_name(int levels) {
  std::string name = "_Z1f1AIiiE";
  for (int level = 0; level < levels; ++level) {
    const std::string last = "S" + std::to_string(level) + "_";
    name.append("S_I").append(last).append(last).append("E");
  }
  return name;
}

TEST(Demangling, LeavesNamesThatWouldFillTheMemory) {
  BoundedDemangler demangled;
  EXPECT_TRUE(demangled(doubling_name(3)).starts_with("f(A<int, int>, A<A<int, int>"));
  EXPECT_EQ(demangled(doubling_name(9)), doubling_name(9));
  EXPECT_EQ(demangled("_Z1f" + std::string(4000, 'i')), "_Z1f" + std::string(4000, 'i'));
}

}  // namespace
}  // namespace sonde
