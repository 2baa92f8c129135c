// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "collect/testing/recorded.h"
#include "sonde/source.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Calls {
  std::vector<std::string> names;
  sonde_request request = {};
  const char* refusal = nullptr;
};

Calls& calls() {
  static Calls instance;
  return instance;
}

int prepare(void* self, const sonde_request* request, char* why, std::size_t why_bytes) {
  auto* const told = static_cast<Calls*>(self);
  told->names.emplace_back("prepare");
  told->request = *request;
  if (told->refusal == nullptr) return 0;
  std::strncpy(why, told->refusal, why_bytes - 1);
  return 1;
}
void start(void* self) {
  static_cast<Calls*>(self)->names.emplace_back("start");
}
void stop(void* self) {
  static_cast<Calls*>(self)->names.emplace_back("stop");
}

const sonde_plugin kPlugin = {
    sizeof(kPlugin), SONDE_ACTIVITY_PRIVATEUSE1, "a plugin", &calls(), prepare, start, stop};

Trace record_with_plugin(bool shapes) {
  EXPECT_EQ(sonde_add_plugin(&kPlugin), 0);
  EXPECT_EQ(sonde_add_plugin(&kPlugin), 0) << "again is nothing";
  SessionOptions options;
  options.request.activities = {Activity::Cpu, Activity::PrivateUse1};
  options.request.record_shapes = shapes;
  const auto session = testing::open_session(std::move(options));
  Trace trace = testing::record_window(*session, [] {});
  sonde_remove_plugin(&kPlugin);
  return trace;
}

TEST(Plugin, IsToldOfSessionsAndWhatTheyWant) {
  calls() = {};
  record_with_plugin(true);
  EXPECT_THAT(calls().names, ElementsAre("prepare", "start", "stop"));
  EXPECT_EQ(calls().request.size, sizeof(sonde_request));
  EXPECT_EQ(calls().request.record_shapes, 1);
  EXPECT_EQ(calls().request.with_stack, 0);
}

TEST(Plugin, MayRefuseAndTheLedgerSaysWhy) {
  calls() = {};
  calls().refusal = "there is no such device";
  const Trace trace = record_with_plugin(false);
  EXPECT_THAT(calls().names, ElementsAre("prepare"));
  std::string said;
  for (std::size_t row = 0; row < trace.ledger().size(); ++row)
    said += trace.string(trace.ledger().detail[static_cast<std::uint32_t>(row)]);
  EXPECT_THAT(said, HasSubstr("there is no such device"));
}

TEST(Plugin, ThatMakesNoSenseIsNotTaken) {
  EXPECT_NE(sonde_add_plugin(nullptr), 0);
  sonde_plugin small = kPlugin;
  small.size = 8;
  EXPECT_NE(sonde_add_plugin(&small), 0);
  sonde_plugin without_start = kPlugin;
  without_start.start = nullptr;
  EXPECT_NE(sonde_add_plugin(&without_start), 0);
}

}  // namespace
}  // namespace sonde
