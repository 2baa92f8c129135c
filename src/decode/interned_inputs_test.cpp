// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/interned_inputs.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace sonde {
namespace {

// A payload: the number of bytes, then the bytes.
std::array<std::uint64_t, 2> payload(std::uint64_t text) {
  return {8, text};
}

TEST(InternedInputs, HaveEachListOnceInWhateverOrderTheyCome) {
  InternedInputs inputs;
  std::vector<std::uint32_t> numbers;
  // A loop, the same loop again, then another order.
  for (const std::uint64_t text : {1U, 2U, 3U, 1U, 2U, 3U, 3U, 1U, 3U, 2U, 2U, 4U, 1U})
    numbers.push_back(inputs.number_of(payload(text)));
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 2, 0, 2, 1, 1, 3, 0}));
  EXPECT_EQ(inputs.texts().size(), 4U);
}

TEST(InternedInputs, TellListsOfDifferentLengthsApart) {
  InternedInputs inputs;
  const std::array<std::uint64_t, 3> longer = {8, 1, 0};
  EXPECT_EQ(inputs.number_of(payload(1)), 0U);
  EXPECT_EQ(inputs.number_of(longer), 1U);
  EXPECT_EQ(inputs.number_of(payload(1)), 0U);
  EXPECT_EQ(inputs.number_of(longer), 1U);
}

TEST(InternedInputs, KeepManyLists) {
  InternedInputs inputs;
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 5000; ++i) EXPECT_EQ(inputs.number_of(payload(i * 977)), i);
  }
}

}  // namespace
}  // namespace sonde
