// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/record_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

RecordOptions with(const RecordFlag& flag) {
  RecordOptions options;
  options.*flag.member = true;
  return options;
}

// The flags that are set, by their words.
std::set<std::string> words(const RecordOptions& options) {
  std::set<std::string> set;
  for (const RecordFlag& flag : record_flags()) {
    if (options.*flag.member) set.insert(flag.word);
  }
  return set;
}

TEST(RecordOptions, AreReadAsTheyAreWritten) {
  for (const RecordFlag& flag : record_flags()) {
    EXPECT_EQ(record_text(with(flag)), flag.word);
    const auto read = record_options_from(flag.word);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(words(*read), std::set<std::string>{flag.word});
  }
  RecordOptions some;
  some.record_shapes = some.with_stack = true;
  some.gpu_level = GpuLevel::Full;
  EXPECT_EQ(record_text(some), "stack,shapes,gpu=full");
  const auto read = record_options_from(record_text(some));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(record_text(*read), record_text(some));
  EXPECT_EQ(record_text({}), "");
}

TEST(RecordOptions, RefuseWordsThatNameNothing) {
  EXPECT_THAT(record_options_from("shapes,colour").error().message, HasSubstr("\"colour\""));
  EXPECT_THAT(record_options_from("gpu=most").error().message, HasSubstr("\"most\""));
  EXPECT_FALSE(record_options_from("shapes,,stack"));
}

TEST(RecordOptions, ReachPluginsEachByItsOwnMember) {
  for (const RecordFlag& flag : record_flags()) {
    const sonde_request request = plugin_request(with(flag));
    EXPECT_EQ(request.size, sizeof(request));
    for (const RecordFlag& other : record_flags())
      EXPECT_EQ(request.*other.plugin_member, other.word == flag.word ? 1 : 0) << flag.word;
  }
  RecordOptions full;
  full.gpu_level = GpuLevel::Full;
  EXPECT_EQ(plugin_request(full).gpu_level, 2);
}

TEST(RecordOptions, AreMetadataUnderPyTorchsKeys) {
  RecordOptions some;
  some.record_shapes = some.profile_memory = true;
  EXPECT_THAT(record_metadata(some),
              ElementsAre(Pair("profile_memory", "1"), Pair("record_shapes", "1")));
  RecordOptions native;
  native.with_native_stack = true;
  EXPECT_THAT(record_metadata(native),
              ElementsAre(Pair("with_stack", "1"), Pair("with_native_stack", "1")));
}

TEST(RecordOptions, TogetherAskForWhatEitherDoes) {
  RecordOptions sum;
  sum.gpu_level = GpuLevel::Lean;
  for (const RecordFlag& flag : record_flags()) add_to(sum, with(flag));
  EXPECT_EQ(words(sum).size(), record_flags().size());
  EXPECT_EQ(sum.gpu_level, GpuLevel::Linked) << "calls are more than none";
}

}  // namespace
}  // namespace sonde
