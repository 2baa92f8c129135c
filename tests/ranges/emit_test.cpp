// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scopes as ranges in other tools.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "../run/launched.h"

namespace sonde::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Emitted : public ::testing::Test {
 protected:
  // Runs ranges_emits with the tool's library in `variable`; returns its exit status.
  int run(const std::string& what, const char* variable, const char* library) {
    Launched program(dir_, {RANGES_EMITS, what},
                     {{"COLLECTED", dir_.file("collected")}, {variable, library}});
    const int status = program.wait();
    output_ = program.output();
    return status;
  }
  std::vector<std::string> collected() const {
    std::istringstream text(read_file(dir_.file("collected")).value_or(""));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  TempDir dir_;
  std::string output_;
};

TEST_F(Emitted, ScopesAreRangesOfTheNvtxTool) {
  EXPECT_EQ(run("nvtx", "NVTX_INJECTION64_PATH", NVTX_COLLECTOR), 0);
  EXPECT_THAT(collected(), ElementsAre("push outer", "push elsewhere", "pop", "push step 3",
                                       "mark moment", "pop", "pop"));
}

TEST_F(Emitted, NothingIsToldWhereNoToolListens) {
  EXPECT_EQ(run("nvtx", "INTEL_LIBITTNOTIFY64", ITT_COLLECTOR), 2);
  EXPECT_EQ(run("nvtx", "NVTX_INJECTION64_PATH", "/nonexistent/tool.so"), 2);
  EXPECT_EQ(run("itt", "NVTX_INJECTION64_PATH", NVTX_COLLECTOR), 2);
  EXPECT_THAT(collected(), IsEmpty());
}

TEST_F(Emitted, SondeIsNotToldOfItsOwnScopes) {
  EXPECT_EQ(run("nvtx", "NVTX_INJECTION64_PATH", SONDE_NVTX), 2);
}

const auto kTasks =
    ElementsAre("handle outer", "PyTorch outer", "handle elsewhere", "PyTorch elsewhere",
                "PyTorch end", "handle step 3", "PyTorch step 3", "handle moment", "PyTorch moment",
                "PyTorch end", "PyTorch end", "PyTorch end");

TEST_F(Emitted, ScopesAreTasksOfTheIttCollector) {
  EXPECT_EQ(run("itt", "INTEL_LIBITTNOTIFY64", ITT_COLLECTOR), 0);
  EXPECT_THAT(collected(), kTasks);
}

TEST_F(Emitted, ScopesAreTasksOfAnOlderIttCollector) {
  EXPECT_EQ(run("itt", "INTEL_LIBITTNOTIFY64", ITT_OLD_COLLECTOR), 0);
  EXPECT_THAT(collected(), kTasks);
}

TEST_F(Emitted, NvtxCallsReachTheTool) {
  EXPECT_EQ(run("calls", "NVTX_INJECTION64_PATH", NVTX_COLLECTOR), 0);
  EXPECT_EQ(output_, "1 0\n0 1\n1\n0\n");
  EXPECT_THAT(collected(), ElementsAre("push first", "push second", "pop", "pop", "start started",
                                       "end 77", "mark marked", "push in a block", "pop"));
}

TEST_F(Emitted, IttCallsReachTheCollector) {
  EXPECT_EQ(run("calls", "INTEL_LIBITTNOTIFY64", ITT_COLLECTOR), 0);
  EXPECT_EQ(output_, "0 1\n-2 -2\n-2\n-2\n");
  EXPECT_THAT(collected(), ElementsAre("handle task", "PyTorch task", "PyTorch end",
                                       "handle moment", "PyTorch moment", "PyTorch end"));
}

}  // namespace
}  // namespace sonde::testing
