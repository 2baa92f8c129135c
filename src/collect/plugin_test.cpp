// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/source/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "collect/testing/recorded.h"
#include "sonde/source/device.h"
#include "sonde/source/op.h"
#include "sonde/source/source.h"
#include "trace/testing/temp_dir.h"
#include "wire/sized.h"

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
    sizeof(kPlugin), SONDE_ACTIVITY_PRIVATEUSE1, "a plugin", &calls(), prepare, start, stop,
    nullptr};

// A device's driver that reports work only when asked: flushes() kernels.
std::atomic<int>& flushes() {
  static std::atomic<int> count{0};
  return count;
}
void flush(void* /*self*/) {
  auto span = sized<sonde_device_span>();
  span.name = sonde_name("held back", 9);
  span.kind = SONDE_SPAN_KERNEL;
  span.device_type = SONDE_DEVICE_OPENCL;
  span.start_ns =
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  span.duration_ns = 1;
  sonde_device_ran(&span);
  ++flushes();
}

sonde_plugin plugin_with_flush() {
  sonde_plugin plugin = kPlugin;
  plugin.flush = flush;
  return plugin;
}

void wait_for_flushes(int more) {
  const int wanted = flushes() + more;
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (flushes() < wanted && std::chrono::steady_clock::now() < late)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

SessionOptions with_plugins() {
  SessionOptions options;
  options.record.activities = {Activity::Cpu, Activity::PrivateUse1};
  return options;
}

Trace record_with_plugin(bool shapes) {
  EXPECT_EQ(sonde_add_plugin(&kPlugin), 0);
  EXPECT_EQ(sonde_add_plugin(&kPlugin), 0) << "adding it again has no effect";
  SessionOptions options = with_plugins();
  options.record.record_shapes = shapes;
  const auto session = testing::open_session(std::move(options));
  Trace trace = testing::record_window(*session, [] {});
  sonde_remove_plugin(&kPlugin);
  return trace;
}

TEST(Plugin, IsToldOfSessionsAndWhatTheyWant) {
  calls() = {};
  record_with_plugin(true);
  EXPECT_THAT(calls().names, ElementsAre("prepare", "prepare", "start", "stop"));
  EXPECT_EQ(calls().request.size, sizeof(sonde_request));
  EXPECT_EQ(calls().request.record_shapes, 1);
  EXPECT_EQ(calls().request.with_stack, 0);
}

// At the end of a program two threads may stop a session at once. The second comes while the first
// waits for a device.
TEST(Plugin, IsStoppedOnceByTwoThreads) {
  calls() = {};
  sonde_plugin slow = kPlugin;
  static std::atomic<int> stopping;
  stopping = 0;
  slow.stop = [](void* self) {
    stop(self);
    stopping.wait(1);  // for the other thread
  };
  ASSERT_EQ(sonde_add_plugin(&slow), 0);
  const auto session = testing::open_session(with_plugins());
  ASSERT_TRUE(session->begin_window(0));
  const auto end_window = [&] {
    ++stopping;
    stopping.notify_all();
    session->end_window();
  };
  std::thread other(end_window);
  end_window();
  other.join();
  sonde_remove_plugin(&slow);
  EXPECT_THAT(calls().names, ElementsAre("prepare", "prepare", "start", "stop"));
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

// start ──flush──flush──…──stop: what it reported each time is in the trace.
TEST(Plugin, IsFlushedWhileAWindowIsOpen) {
  calls() = {};
  const sonde_plugin plugin = plugin_with_flush();
  ASSERT_EQ(sonde_add_plugin(&plugin), 0);
  const auto session = testing::open_session(with_plugins());
  const int before = flushes();
  const Trace trace = testing::record_window(*session, [] { wait_for_flushes(2); });
  const int told = flushes() - before;
  EXPECT_EQ(testing::count_spans(trace, "held back"), told);
  EXPECT_GE(told, 2);
  sonde_remove_plugin(&plugin);
}

TEST(Plugin, IsFlushedBeforeASnapshot) {
  calls() = {};
  const sonde_plugin plugin = plugin_with_flush();
  ASSERT_EQ(sonde_add_plugin(&plugin), 0);
  SessionOptions options = with_plugins();
  options.policy = BufferPolicy::Ring;
  const auto session = testing::open_session(std::move(options));
  ASSERT_TRUE(session->begin_window(0));
  const testing::TempDir dir;
  const auto written = session->snapshot({.path = dir.file("now.sonde")});
  ASSERT_TRUE(written) << written.error().message;
  session->end_window();
  sonde_remove_plugin(&plugin);
  const auto snapshot = open_sonde(dir.file("now.sonde"));
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_GE(testing::count_spans(*snapshot, "held back"), 1u);
}

TEST(Plugin, BuiltBeforeThereWasFlushIsTaken) {
  calls() = {};
  sonde_plugin old = plugin_with_flush();
  old.size = offsetof(sonde_plugin, flush);
  old.flush = [](void*) { FAIL() << "its struct ends before this"; };
  ASSERT_EQ(sonde_add_plugin(&old), 0);
  const sonde_plugin other = plugin_with_flush();  // so that there is something to flush
  ASSERT_EQ(sonde_add_plugin(&other), 0);
  const auto session = testing::open_session(with_plugins());
  testing::record_window(*session, [] { wait_for_flushes(2); });
  sonde_remove_plugin(&old);
  sonde_remove_plugin(&other);
}

}  // namespace
}  // namespace sonde
