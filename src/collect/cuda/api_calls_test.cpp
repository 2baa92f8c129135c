// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/cuda/api_calls.h"

#include <gtest/gtest.h>

#include "collect/testing/recorded.h"
#include "sonde/record.h"

namespace sonde::cuda {
namespace {

constexpr std::uint32_t kLaunch = 1;
Callback callback = nullptr;

// As much of CUPTI as is needed to call back.
Cupti callbacks_only() {
  Cupti cupti;
  cupti.subscribe = [](Subscriber* subscriber, Callback given, void*) {
    static int made = 0;
    *subscriber = &made;
    callback = given;
    return 0;
  };
  cupti.enable_callback = [](std::uint32_t, Subscriber, std::uint32_t, std::uint32_t) { return 0; };
  cupti.get_callback_name = [](std::uint32_t domain, std::uint32_t id, const char** name) {
    const bool is_known =
        id == kLaunch && domain == static_cast<std::uint32_t>(CallbackDomain::Driver);
    *name = is_known ? "cuLaunchKernel" : nullptr;
    return is_known ? 0 : 1;
  };
  return cupti;
}

void call_back(std::int32_t site) {
  CallbackData data = {};
  data.site = site;
  callback(nullptr, static_cast<std::uint32_t>(CallbackDomain::Driver), kLaunch, &data);
}

class ApiCallsTest : public ::testing::Test {
 protected:
  ApiCallsTest() : cupti_(callbacks_only()) { EXPECT_TRUE(calls_.open(cupti_)); }

  // Launches of one recording, which ends before the last has returned if it `is_cut`.
  std::size_t launches_recorded(bool is_cut) {
    const Trace trace = testing::record_once([&] {
      calls_.start(Level::Linked);
      call_back(0);
      call_back(1);
      call_back(0);
      if (!is_cut) call_back(1);
      calls_.stop();
    });
    return testing::count_spans(trace, "cuLaunchKernel");
  }

  const Cupti cupti_;
  ApiCalls calls_;
};

TEST_F(ApiCallsTest, AThreadThatWasInACallWhenRecordingEndedIsRecordedAgain) {
  EXPECT_GE(launches_recorded(true), 1u);
  EXPECT_EQ(launches_recorded(false), 2u);
}

TEST_F(ApiCallsTest, OnlyTheOutermostOfNestedCallsIsRecorded) {
  const Trace trace = testing::record_once([&] {
    calls_.start(Level::Linked);
    call_back(0);
    call_back(0);
    call_back(1);
    call_back(1);
    calls_.stop();
  });
  EXPECT_EQ(testing::count_spans(trace, "cuLaunchKernel"), 1u);
}

TEST_F(ApiCallsTest, AReturnWithoutACallIsNothing) {
  const Trace trace = testing::record_once([&] {
    calls_.start(Level::Linked);
    call_back(1);
    call_back(0);
    call_back(1);
    calls_.stop();
  });
  EXPECT_EQ(testing::count_spans(trace, "cuLaunchKernel"), 1u);
}

}  // namespace
}  // namespace sonde::cuda
