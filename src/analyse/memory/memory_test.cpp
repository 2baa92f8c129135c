// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <numeric>

#include "analyse/testing/memory_trace.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using testing::MemoryTrace;

constexpr std::int64_t kTensor = MemoryTrace::kTensorBytes;

const DeviceMemory& only_device(const MemoryProfile& profile) {
  if (profile.devices.size() != 1) std::abort();
  return profile.devices.front();
}

std::vector<MemoryAction> actions(const DeviceMemory& device) {
  std::vector<MemoryAction> all;
  for (const MemoryEvent& event : device.events) all.push_back(event.action);
  return all;
}

// The last category of each address.
std::map<std::uint64_t, MemoryCategory> last_categories(const DeviceMemory& device) {
  std::map<std::uint64_t, MemoryCategory> categories;
  for (const MemoryEvent& event : device.events)
    categories[device.blocks[event.block].address] = event.to;
  return categories;
}

// Sums that hold at every event of any trace.
void expect_identities(const DeviceMemory& device) {
  MemoryRun run(device);
  std::int64_t created = 0;
  std::int64_t most = 0;
  while (run.next()) {
    const std::int64_t bytes = device.blocks[run.event().block].bytes;
    const MemoryAction action = run.event().action;
    if (action == MemoryAction::Preexisting || action == MemoryAction::Create) created += bytes;
    if (action == MemoryAction::Destroy) created -= bytes;
    ASSERT_EQ(run.live_bytes(), created);
    std::int64_t sum = 0;
    for (const std::int64_t of_category : run.by_category()) {
      ASSERT_GE(of_category, 0);
      sum += of_category;
    }
    ASSERT_EQ(sum, run.live_bytes());
    most = std::max(most, created);
  }
  EXPECT_EQ(device.peak.live_bytes, most);
}

TEST(MemoryProfile, MakesABlockOfEachLifeOfAnAddress) {
  MemoryTrace t;
  t.alloc(1, 0x100, 512);
  t.free(2, 0x100, 512);
  t.alloc(3, 0x100, 2048);
  const MemoryProfile profile = memory_profile(t.build());
  const DeviceMemory& device = only_device(profile);
  ASSERT_EQ(device.blocks.size(), 2U);
  EXPECT_EQ(device.blocks[0].bytes, 512);
  EXPECT_TRUE(device.blocks[0].death.valid());
  EXPECT_EQ(device.blocks[1].bytes, 2048);
  EXPECT_FALSE(device.blocks[1].death.valid());
  EXPECT_EQ(device.peak.live_bytes, 2048);
}

TEST(MemoryProfile, KeepsTheOrderOfWhatHappensInOneNanosecond) {
  MemoryTrace t;
  t.alloc(1, 0x100, 512);
  t.free(2, 0x100, 512);
  t.alloc(2, 0x100, 512);
  t.free(2, 0x100, 512);
  t.alloc(2, 0x100, 512);
  const MemoryProfile profile = memory_profile(t.build());
  const DeviceMemory& device = only_device(profile);
  EXPECT_EQ(device.blocks.size(), 3U);
  EXPECT_EQ(device.peak.live_bytes, 512);
  EXPECT_EQ(device.problems.double_frees + device.problems.double_births, 0U);
}

TEST(MemoryProfile, TakesWhatIsFreedUnseenForThereBefore) {
  MemoryTrace t;
  t.free(2, 0x100, 512);
  const MemoryProfile profile = memory_profile(t.build());
  EXPECT_THAT(actions(only_device(profile)),
              ElementsAre(MemoryAction::Preexisting, MemoryAction::Destroy));
  EXPECT_EQ(only_device(profile).peak.live_bytes, 512);
}

TEST(MemoryProfile, CountsAndIgnoresSecondFrees) {
  MemoryTrace t;
  t.alloc(1, 0x100, 512);
  t.free(2, 0x100, 512);
  t.free(3, 0x100, 512);
  const MemoryProfile profile = memory_profile(t.build());
  EXPECT_EQ(only_device(profile).events.size(), 2U);
  EXPECT_EQ(only_device(profile).problems.double_frees, 1U);
}

TEST(MemoryProfile, EndsABlockWhoseAddressIsGivenOutAgain) {
  MemoryTrace t;
  t.alloc(1, 0x100, 512);
  t.alloc(2, 0x100, 256);
  const MemoryProfile profile = memory_profile(t.build());
  EXPECT_THAT(actions(only_device(profile)),
              ElementsAre(MemoryAction::Create, MemoryAction::Destroy, MemoryAction::Create));
  EXPECT_EQ(only_device(profile).problems.double_births, 1U);
  expect_identities(only_device(profile));
}

TEST(MemoryProfile, IgnoresSizesThatNoMemoryHas) {
  MemoryTrace t;
  t.raw(1, 0x100, 0);
  t.raw(2, 0x200, std::numeric_limits<std::int64_t>::min());
  t.raw(3, 0x300, std::numeric_limits<std::int64_t>::max());
  for (int i = 0; i < 64; ++i) t.raw(4 + i, 0x1000 + std::uint64_t(i), std::int64_t{1} << 58);
  const MemoryProfile profile = memory_profile(t.build());
  EXPECT_EQ(only_device(profile).problems.without_meaning, 3U + 56U);
  expect_identities(only_device(profile));
}

TEST(MemoryProfile, BelievesTheAllocationWhereAFreeSaysOtherwise) {
  MemoryTrace t;
  t.alloc(1, 0x100, 512);
  t.raw(2, 0x100, -100);
  const MemoryProfile profile = memory_profile(t.build());
  EXPECT_EQ(only_device(profile).problems.sizes_that_differ, 1U);
  expect_identities(only_device(profile));
}

TEST(MemoryProfile, SeesTensorsThatWereThereBefore) {
  MemoryTrace t;
  t.op("aten::mm", 0, 10, {0x100, 0x200});
  const MemoryProfile profile = memory_profile(t.build());
  EXPECT_EQ(only_device(profile).blocks.size(), 2U);
  EXPECT_EQ(only_device(profile).peak.live_bytes, 2 * kTensor);
}

TEST(MemoryProfile, KeepsDevicesApart) {
  MemoryTrace t;
  t.alloc(1, 0x100, 512);
  t.ops().memory(2, 64);
  const MemoryProfile profile = memory_profile(t.build());
  ASSERT_EQ(profile.devices.size(), 2U);
  EXPECT_EQ(to_string(profile.devices[0].device), "cpu");
  EXPECT_EQ(to_string(profile.devices[1].device), "cuda:0");
  EXPECT_EQ(*profile.find(""), &profile.devices[1]);
  EXPECT_EQ(*profile.find("cpu"), &profile.devices[0]);
  EXPECT_EQ(profile.find("cuda:3").error().message,
            "no memory of cuda:3 was recorded; recorded devices: cpu, cuda:0");
  EXPECT_FALSE(profile.find("gpu").has_value());
}

// Two training steps of a weight, with a gradient and momentum:
//   x = randn(); h = mm(x, w); g = MmBackward(h, x); momentum.lerp_(g); w.add_(momentum)
constexpr std::uint64_t kWeight = 0x10;
constexpr std::uint64_t kMomentum = 0x20;

void training_step(MemoryTrace& t, Nanos at, std::uint64_t base) {
  const std::uint64_t x = base + 1;
  const std::uint64_t h = base + 2;
  const std::uint64_t g = base + 3;
  const std::uint64_t scratch = base + 4;
  const std::uint64_t detail = base + 5;
  t.op("aten::randn", at, at + 10);
  t.alloc(at + 1, x, kTensor);
  t.op("aten::normal_", at + 2, at + 5, {x});
  t.op("aten::mm", at + 10, at + 20, {x, kWeight}).sequence(1);
  t.alloc(at + 11, h, kTensor);
  t.op("aten::fill_", at + 12, at + 13, {h});
  t.backward("HBackward0", at + 20, at + 25, {h});
  t.op("aten::mul", at + 21, at + 22, {h});
  t.alloc(at + 22, detail, kTensor);
  t.backward("MmBackward0", at + 30, at + 40, {detail});
  t.op("aten::mm", at + 31, at + 39, {x, detail});
  t.alloc(at + 32, scratch, kTensor);
  t.op("aten::neg", at + 33, at + 34, {scratch});
  t.free(at + 35, scratch, kTensor);
  t.alloc(at + 36, g, kTensor);
  t.free(at + 41, detail, kTensor);
  t.accumulate(at + 42, g);
  t.op("aten::lerp_", at + 50, at + 55, {kMomentum, g});
  t.op("aten::add_", at + 55, at + 60, {kWeight, kMomentum});
  t.free(at + 62, h, kTensor);
}

TEST(MemoryCategories, AreFoundFromWhatFlowsWhere) {
  MemoryTrace t;
  training_step(t, 0, 0x1000);
  training_step(t, 100, 0x2000);
  const MemoryProfile profile = memory_profile(t.build());
  EXPECT_TRUE(profile.missing.empty());
  const auto categories = last_categories(only_device(profile));
  EXPECT_EQ(categories.at(kWeight), MemoryCategory::Parameter);
  EXPECT_EQ(categories.at(kMomentum), MemoryCategory::OptimizerState);
  for (const std::uint64_t base : {0x1000U, 0x2000U}) {
    EXPECT_EQ(categories.at(base + 1), MemoryCategory::Input);
    EXPECT_EQ(categories.at(base + 2), MemoryCategory::Activation);
    EXPECT_EQ(categories.at(base + 3), MemoryCategory::Gradient);
    EXPECT_EQ(categories.at(base + 4), MemoryCategory::Temporary);
    EXPECT_EQ(categories.at(base + 5), MemoryCategory::AutogradDetail);
  }
  expect_identities(only_device(profile));
}

TEST(MemoryCategories, ChangeNothingOfWhatWasWrittenButItsVersion) {
  MemoryTrace t;
  training_step(t, 0, 0x1000);
  training_step(t, 100, 0x2000);
  const MemoryProfile profile = memory_profile(t.build());
  const DeviceMemory& device = only_device(profile);
  int weight_versions = 0;
  for (const MemoryEvent& event : device.events) {
    if (device.blocks[event.block].address != kWeight) continue;
    weight_versions += event.action == MemoryAction::IncrementVersion ? 1 : 0;
  }
  EXPECT_EQ(weight_versions, 2);
}

TEST(MemoryCategories, AreNotToldWithoutGradients) {
  MemoryTrace t;
  t.op("aten::mm", 0, 10, {0x100, 0x200});
  t.alloc(1, 0x300, kTensor);
  const MemoryProfile profile = memory_profile(t.build());
  ASSERT_EQ(profile.missing.size(), 1U);
  EXPECT_EQ(only_device(profile).peak.by_category[7], 3 * kTensor);
}

// A call of a module, as in inference: no gradients, no optimizer.
TEST(MemoryCategories, AreWhatTheProgramSays) {
  MemoryTrace t;
  t.role(0, 0x100, TensorPurpose::Parameter);  // from before, seen later
  t.op("aten::mm", 1, 10, {0x100, 0x200});
  t.alloc(2, 0x300, kTensor);
  t.alloc(3, 0x400, kTensor);
  t.role(20, 0x300, TensorPurpose::OptimizerState);
  t.role(20, 0x500, TensorPurpose::Parameter);
  t.alloc(21, 0x500, kTensor);  // another tensor than the one that was meant
  t.op("aten::relu", 30, 40, {0x400});
  const MemoryProfile profile = memory_profile(t.build());
  const auto categories = last_categories(only_device(profile));
  EXPECT_EQ(categories.at(0x100), MemoryCategory::Parameter);
  EXPECT_EQ(categories.at(0x200), MemoryCategory::Input);
  EXPECT_EQ(categories.at(0x300), MemoryCategory::OptimizerState);
  EXPECT_EQ(categories.at(0x400), MemoryCategory::Activation);
  EXPECT_TRUE(profile.missing.empty());
  EXPECT_EQ(categories.at(0x500), MemoryCategory::Unknown);
  expect_identities(only_device(profile));
}

// One recorded step: the data flow alone cannot tell momentum from a parameter.
TEST(MemoryCategories, OfTheProgramCountMoreThanTheDataFlow) {
  MemoryTrace t;
  training_step(t, 0, 0x1000);
  t.role(90, kMomentum, TensorPurpose::OptimizerState);
  t.role(90, kWeight, TensorPurpose::Parameter);
  const auto categories = last_categories(only_device(memory_profile(t.build())));
  EXPECT_EQ(categories.at(kMomentum), MemoryCategory::OptimizerState);
  EXPECT_EQ(categories.at(kWeight), MemoryCategory::Parameter);
  EXPECT_EQ(categories.at(0x1002), MemoryCategory::Activation);
}

TEST(MemoryCategories, AreGuessedFromLivesWhereTensorsAreNotKnown) {
  MemoryTrace t;
  t.op("aten::mm", 0, 10);
  t.alloc(1, 0x1, 100);  // alive when gradients begin
  t.alloc(2, 0x2, 100);  // within one call
  t.free(3, 0x2, 100);
  t.backward("MmBackward0", 20, 30);
  t.alloc(21, 0x3, 100);
  t.alloc(22, 0x4, 100);
  t.backward("AddBackward0", 30, 40);
  t.free(31, 0x3, 100);
  t.free(45, 0x1, 100);
  const MemoryProfile profile = memory_profile(t.build());
  EXPECT_FALSE(profile.has_tensors);
  const auto categories = last_categories(only_device(profile));
  EXPECT_EQ(categories.at(0x1), MemoryCategory::Activation);
  EXPECT_EQ(categories.at(0x2), MemoryCategory::Temporary);
  EXPECT_EQ(categories.at(0x3), MemoryCategory::AutogradDetail);
  EXPECT_EQ(categories.at(0x4), MemoryCategory::Gradient);
}

TEST(MemoryCategories, SurviveTensorsThatAreUsedBeforeTheyAreBorn) {
  MemoryTrace t;
  t.op("aten::add_", 0, 20, {0x100});
  t.op("aten::add_", 5, 10, {0x100});
  t.alloc(1, 0x200, kTensor);
  t.op("aten::add_", 30, 40, {0x200});
  t.free(2, 0x200, kTensor);
  t.free(3, 0x200, kTensor);
  const MemoryProfile profile = memory_profile(t.build());
  expect_identities(only_device(profile));
}

TEST(MemoryDevice, IsReadAsPyTorchWritesIt) {
  EXPECT_EQ(to_string(*parse_memory_device("cuda:1")), "cuda:1");
  EXPECT_EQ(to_string(*parse_memory_device("cuda")), "cuda:0");
  EXPECT_EQ(to_string(*parse_memory_device("cpu:0")), "cpu");
  for (const char* wrong : {"", "cuda:", "cuda:x", "cuda:-1", "cud"})
    EXPECT_FALSE(parse_memory_device(wrong).has_value()) << wrong;
}

}  // namespace
}  // namespace sonde
