// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs that load libtorch, or a library with its name: at start, later by a path, later by a
// name.

#include "agent/adapter_name.h"
#include "launched.h"

namespace sonde::testing {
namespace {

class Torch : public ::testing::Test {
 protected:
  int run(std::vector<std::string> program, const std::string& adapters = FAKE_ADAPTER) {
    program.insert(program.begin(), {"--memory", "-o", "run.sonde", "--"});
    Launched launched(dir_, sonde_run(std::move(program)), {{"SONDE_RUN_ADAPTERS", adapters}});
    const int status = launched.wait();
    errors_ = launched.errors();
    output_ = launched.output();
    return status;
  }
  std::size_t operators() const { return spans_in(dir_.file("run.sonde"), "fake::op"); }

  TempDir dir_;
  std::string errors_;
  std::string output_;
};

TEST_F(Torch, LinkedInIsRecordedFromTheFirstOperatorOn) {
  EXPECT_EQ(run({RUN_LINKS_TORCH}), 0) << errors_;
  EXPECT_EQ(operators(), 100u);
}

TEST_F(Torch, OpenedByItsPathIsRecordedFromTheFirstOperatorOn) {
  EXPECT_EQ(run({RUN_LOADS_TORCH, FAKE_TORCH, "100"}), 0) << errors_;
  EXPECT_EQ(operators(), 100u);
}

TEST_F(Torch, TellsOfItsMemoryAlsoWhereOnlyItsUserSeesIt) {
  EXPECT_EQ(run({RUN_LOADS_TORCH, FAKE_TORCH, "100"}), 0) << errors_;
  EXPECT_EQ(output_, "101\n") << "torch's own profiler is told as before";
  const auto trace = open_sonde(dir_.file("run.sonde"));
  ASSERT_TRUE(trace) << trace.error().message;
  const auto& allocations = trace->allocations();
  ASSERT_EQ(allocations.size(), 101u);
  EXPECT_EQ(allocations.bytes[0], 64);
  EXPECT_EQ(allocations.flags[0], 0u);
  EXPECT_EQ(allocations.bytes[100], 1 << 20);
  EXPECT_EQ(allocations.flags[100], AllocationFlags::kOutOfMemory);
}

TEST_F(Torch, OpenedByANameIsFoundByTheCallersRunPathAndRecordedSoonAfter) {
  EXPECT_EQ(run({RUN_LOADS_TORCH, "libtorch_cpu.so", "100", "wait"}), 0) << errors_;
  EXPECT_EQ(operators(), 100u);
}

TEST_F(Torch, OpenedByANameNeverMeetsTheAgentInsideAConstructor) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(run({RUN_LOADS_TORCH, "libtorch_cpu.so", "1"}), 0) << errors_;
  }
}

TEST_F(Torch, OfAChildIsRecordedFromItsFirstOperatorOn) {
  Launched launched(
      dir_, sonde_run({"-o", "{pid}.sonde", "--", RUN_LOADS_TORCH, FAKE_TORCH, "100", "fork"}),
      {{"SONDE_RUN_ADAPTERS", FAKE_ADAPTER}});
  EXPECT_EQ(launched.wait(), 0) << launched.errors();
  std::size_t operators = 0;
  for (const std::string& file : files_ending_in(dir_.path(), ".sonde"))
    operators += spans_in(file, "fake::op");
  EXPECT_EQ(operators, 100u) << launched.errors();
}

TEST_F(Torch, WithoutAnAdapterRunsAndSaysWhatIsMissing) {
  EXPECT_EQ(run({RUN_LOADS_TORCH, FAKE_TORCH, "100"}, "/nowhere/adapter.so"), 0);
  EXPECT_NE(errors_.find("libtorch_cpu.so is not recorded: /nowhere/adapter.so"), std::string::npos)
      << errors_;
  EXPECT_NE(errors_.find("sonde: nothing was recorded\n"), std::string::npos) << errors_;
  EXPECT_TRUE(files_ending_in(dir_.path(), ".sonde").empty());
}

TEST_F(Torch, OfAnotherVersionIsNotJoinedByTheOneThatTheAdapterIsMadeFor) {
  EXPECT_EQ(run({RUN_LOADS_TORCH, OTHER_TORCH, "100"}), 0);
  EXPECT_NE(errors_.find("was built for another torch (libtorch_cpu.so)"), std::string::npos)
      << errors_;
}

TEST_F(Torch, IsNotJoinedByAnAdapterThatWasBuiltForAnotherOfTheSameName) {
  const auto key = torch_library_key(FAKE_TORCH);
  ASSERT_TRUE(key) << key.error().message;
  const auto copied = [&](const std::string& library_key) {
    std::string path = dir_.file(to_file_name({"9.8.7", true, library_key, "sources"}));
    std::filesystem::copy_file(FAKE_ADAPTER, path);
    return path;
  };
  const std::string other = copied("0123456789abcdef");
  EXPECT_EQ(run({RUN_LINKS_TORCH}, other), 0);
  EXPECT_NE(errors_.find(other + ": was built for another torch (9.8.7)"), std::string::npos)
      << errors_;
  EXPECT_EQ(run({RUN_LINKS_TORCH}, other + ":" + copied(*key)), 0) << errors_;
  EXPECT_EQ(operators(), 100u);
}

TEST_F(Torch, FindsTheAdapterThatFitsAmongSeveral) {
  EXPECT_EQ(run({RUN_LINKS_TORCH}, "/nowhere/adapter.so:" FAKE_ADAPTER), 0) << errors_;
  EXPECT_EQ(operators(), 100u);
}

TEST_F(Torch, ThatComesAfterTheRecorderIsRecordedToASecondFile) {
  Launched launched(dir_, sonde_run({"-o", "run.sonde", "--", RUN_LOADS_TORCH, FAKE_TORCH, "100"}),
                    {{"SONDE_RUN_ADAPTERS", FAKE_ADAPTER}, {"LD_PRELOAD", RECORD_LIBRARY}});
  EXPECT_EQ(launched.wait(), 0) << launched.errors();
  const auto files = files_ending_in(dir_.path(), ".sonde");
  ASSERT_EQ(files.size(), 1u) << "the first, which is empty, is removed";
  EXPECT_EQ(spans_in(files.front(), "fake::op"), 100u);
}

}  // namespace
}  // namespace sonde::testing
