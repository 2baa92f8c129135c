// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/profile/execution_trace.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/file.h"
#include "base/json.h"
#include "collect/distributed.h"
#include "sonde/source/execution_trace_source.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using testing::TempDir;

// A source that writes what a test asks for.
struct Told {
  int begins = 0;
  int starts = 0;
  int stops = 0;
  std::string groups;
};
Told source_calls;

const sonde_et_source kSource = {
    sizeof(kSource),
    [] { ++source_calls.begins; },
    [](const char* groups) {
      ++source_calls.starts;
      source_calls.groups = groups;
    },
    [] { ++source_calls.stops; },
};

void write_node(std::uint64_t id, const std::string& name) {
  const auto text = [](std::string_view of) { return sonde_et_text{of.data(), of.size()}; };
  sonde_et_node node = {};
  node.size = sizeof(node);
  node.id = id;
  node.parent = 1;
  node.name = text(name);
  node.inputs = node.outputs = {text("[1]"), text("[[]]"), text("[\"Int\"]"), text("[[]]")};
  sonde_et_write(&node);
}

std::string read(const std::string& path) {
  const Result<std::string> text = read_file(path);
  return text ? *text : text.error().message;
}

std::size_t nodes_in(const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find("\"ctrl_deps\"", at)) != std::string::npos; ++at)
    ++count;
  return count;
}

class ExecutionTraceObserverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sonde_add_et_source(&kSource);
    source_calls = {};
  }
  TempDir folder_;
};

TEST_F(ExecutionTraceObserverTest, WritesTheRootAloneIfNothingRan) {
  const std::string path = folder_.file("et.json");
  ExecutionTraceObserver observer;
  ASSERT_TRUE(observer.register_callback(path));
  ASSERT_TRUE(observer.unregister_callback());
  const std::string text = read(path);
  EXPECT_TRUE(validate_json(text)) << text;
  EXPECT_EQ(nodes_in(text), 1U);
}

TEST_F(ExecutionTraceObserverTest, LeavesAWholeFileAfterEveryWrite) {
  const std::string path = folder_.file("et.json");
  ExecutionTraceObserver observer;
  ASSERT_TRUE(observer.register_callback(path));
  observer.start();
  std::size_t seen = 0;
  for (std::uint64_t id = 2; id < 1000; ++id) {
    write_node(id, "aten::op \"quoted\" \xff");
    if (id % 100 != 0) continue;
    const std::string text = read(path);
    ASSERT_TRUE(validate_json(text));
    EXPECT_GE(nodes_in(text), seen);
    seen = nodes_in(text);
  }
  EXPECT_GT(seen, 800U);
  observer.stop();
  EXPECT_EQ(nodes_in(read(path)), 999U);
}

TEST_F(ExecutionTraceObserverTest, FollowsItsCalls) {
  ExecutionTraceObserver observer;
  EXPECT_FALSE(observer.is_registered());
  observer.start();
  EXPECT_FALSE(observer.is_running());
  EXPECT_EQ(source_calls.starts, 0);
  ASSERT_TRUE(observer.register_callback(folder_.file("et.json")));
  ASSERT_TRUE(observer.register_callback(folder_.file("other.json")));
  EXPECT_EQ(observer.output_file_path(), folder_.file("et.json"));
  EXPECT_TRUE(observer.is_registered());
  observer.start();
  observer.start();
  EXPECT_TRUE(observer.is_running());
  EXPECT_EQ(source_calls.starts, 1);
  observer.stop();
  observer.stop();
  EXPECT_FALSE(observer.is_running());
  EXPECT_EQ(source_calls.stops, 1);
  observer.cleanup();
  EXPECT_FALSE(observer.is_registered());
  EXPECT_EQ(source_calls.begins, 1);
}

TEST_F(ExecutionTraceObserverTest, AllowsOneAProcess) {
  ExecutionTraceObserver first;
  ASSERT_TRUE(first.register_callback(folder_.file("first.json")));
  {
    ExecutionTraceObserver second;
    const auto refused = second.register_callback(folder_.file("second.json"));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("first.json"), std::string::npos);
    second.start();
    EXPECT_EQ(source_calls.starts, 0);
  }
  EXPECT_TRUE(first.is_registered());
  first.cleanup();
  ExecutionTraceObserver third;
  EXPECT_TRUE(third.register_callback(folder_.file("third.json")));
}

TEST_F(ExecutionTraceObserverTest, HandsOverTheProcessGroups) {
  set_distributed_info({.rank = 0, .world_size = 1, .pg_config = R"([{"pg_name": "0"}])"});
  ExecutionTraceObserver observer;
  ASSERT_TRUE(observer.register_callback(folder_.file("et.json")));
  observer.start();
  EXPECT_EQ(source_calls.groups, R"([{"pg_name": "0"}])");
  reset_distributed_info();
}

TEST_F(ExecutionTraceObserverTest, SaysWhereItCannotWrite) {
  ExecutionTraceObserver observer;
  const auto refused = observer.register_callback(folder_.file("no/such/et.json"));
  ASSERT_FALSE(refused);
  EXPECT_FALSE(observer.is_registered());
}

TEST_F(ExecutionTraceObserverTest, LeavesTheFileToTheParentInAChild) {
  ExecutionTraceObserver observer;
  const std::string path = folder_.file("et.json");
  ASSERT_TRUE(observer.register_callback(path));
  observer.start();
  const pid_t child = ::fork();
  if (child == 0) {
    for (std::uint64_t id = 2; id < 1000; ++id) write_node(id, "child");
    // _exit() would let the thread sanitizer report the parent's threads as leaked.
    ::syscall(SYS_exit_group, observer.is_registered() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(nodes_in(read(path)), 1U);
}

}  // namespace
}  // namespace sonde
