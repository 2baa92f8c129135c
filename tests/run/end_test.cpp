// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// However a program ends, its file exists and its exit status is passed on; and the messages of
// `sonde run`.

#include <sys/stat.h>

#include "agent/control.h"
#include "agent/run_environment.h"
#include "base/output_file.h"
#include "launched.h"

namespace sonde::testing {
namespace {

using ::testing::Test;

class Run : public Test {
 protected:
  std::string file() const { return dir_.file("run.sonde"); }

  // Runs `program` to its end, recording to file().
  int run(std::vector<std::string> program, std::vector<std::string> options = {}) {
    std::vector<std::string> words = {"-o", "run.sonde"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    words.insert(words.end(), program.begin(), program.end());
    Launched launched(dir_, sonde_run(words));
    const int status = launched.wait();
    errors_ = launched.errors();
    return status;
  }
  bool said(const std::string& text) const { return errors_.find(text) != std::string::npos; }

  TempDir dir_;
  std::string errors_;
};

TEST_F(Run, RecordsEveryScopeOfAProgramThatWasNotChanged) {
  EXPECT_EQ(run({RUN_SCOPES, "work", "1000"}), 0) << errors_;
  EXPECT_EQ(spans_in(file(), "work"), 1000u);
  EXPECT_FALSE(std::filesystem::exists(file() + ".live"));
  EXPECT_TRUE(said("run.sonde: 1,000 spans in ")) << errors_;
  EXPECT_TRUE(said(", nothing lost; next: sonde report run.sonde\n")) << errors_;
}

// The value of a metadata key.
std::string metadata_in(const std::string& path, std::string_view key) {
  const auto trace = open_sonde(path);
  if (!trace) return trace.error().message;
  const MetadataTable& metadata = trace->metadata();
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    if (trace->string(metadata.key[i]) == key) return std::string(trace->string(metadata.value[i]));
  }
  return "";
}

TEST_F(Run, MasksSecretsInTheCommandLine) {
  const std::vector<std::string> program = {RUN_SCOPES, "work", "1", "0", "--hf-token", "hunter2"};
  EXPECT_EQ(run(program), 0) << errors_;
  EXPECT_EQ(metadata_in(file(), "command"),
            "[\"" RUN_SCOPES "\", \"work\", \"1\", \"0\", \"--hf-token\", \"***\"]");
  EXPECT_EQ(run(program, {"--keep-command-line"}), 0) << errors_;
  EXPECT_NE(metadata_in(file(), "command").find("hunter2"), std::string::npos);
}

TEST_F(Run, PassesTheExitStatusOn) {
  EXPECT_EQ(run({RUN_SCOPES, "work", "10", "42"}), 42);
  EXPECT_EQ(metadata_in(file(), "program_ended"), R"({"status": 42})");
  EXPECT_EQ(run({"/bin/false"}), 1);
}

TEST_F(Run, FinishesTheFileOfAProgramThatEndsWithoutCleaningUp) {
  for (const char* const how : {"_exit", "_Exit", "quick_exit", "handler", "cancelled"}) {
    EXPECT_EQ(run({RUN_SCOPES, how, "1000"}), 7) << how;
    EXPECT_EQ(spans_in(file(), "work"), 1000u) << how;
    EXPECT_TRUE(said("1,000 spans in ") && said(", nothing lost;")) << how << ": " << errors_;
    EXPECT_FALSE(std::filesystem::exists(file() + ".live")) << how;
  }
}

TEST_F(Run, FinishesTheFileOfAProgramThatAbortsAndSaysSo) {
  for (const char* const how : {"abort", "throw"}) {
    EXPECT_EQ(run({RUN_SCOPES, how, "1000"}), 128 + SIGABRT) << how;
    EXPECT_EQ(spans_in(file(), "work"), 1000u) << how;
    EXPECT_TRUE(said("was killed by signal 6 (Aborted)")) << how << ": " << errors_;
    EXPECT_EQ(metadata_in(file(), "program_ended"), R"({"signal": 6})") << how;
    EXPECT_TRUE(said(", nothing lost;")) << how << ": " << errors_;
  }
}

TEST_F(Run, FinishesTheFileOfAProgramThatKillsItself) {
  for (const char* const how : {"kill", "raise"}) {
    EXPECT_EQ(run({RUN_SCOPES, how, "1000"}), 128 + SIGTERM) << how;
    EXPECT_EQ(spans_in(file(), "work"), 1000u) << how;
    EXPECT_TRUE(said(", nothing lost;")) << how << ": " << errors_;
  }
}

// Another program has taken the socket names of processes that do not exist yet.
TEST_F(Run, FinishesTheFileWhateverSocketsOthersHave) {
  std::vector<int> sockets;
  for (pid_t pid = ::getpid(); pid < ::getpid() + 200; ++pid) {
    const ControlAddress address(kControlPrefix + std::to_string(pid));
    sockets.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ::bind(sockets.back(), address.get(), address.size());
    ::listen(sockets.back(), 0);
  }
  EXPECT_EQ(run({RUN_SCOPES, "_exit", "1000"}), 7) << errors_;
  EXPECT_TRUE(said("1,000 spans in ") && said(", nothing lost;")) << errors_;
  EXPECT_FALSE(said("control socket")) << errors_;
  for (const int socket : sockets) ::close(socket);
}

// A child of vfork() uses its parent's memory. A blocked signal waits, and a handled one need not
// end the program.
TEST_F(Run, GoesOnWhenTheProgramDoes) {
  for (const char* const how : {"vfork", "waits", "survives"}) {
    EXPECT_EQ(run({RUN_SCOPES, how, "1000"}), 0) << how;
    EXPECT_EQ(spans_in(file(), "work"), 2000u) << how;
    EXPECT_TRUE(said(", nothing lost;")) << how << ": " << errors_;
  }
}

TEST_F(Run, KeepsWhatWasRecordedBeforeAKill) {
  Launched launched(dir_, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "wait", "ready"}));
  ASSERT_TRUE(wait_for_file(dir_.file("ready")));
  const pid_t program = program_of(launched, RUN_SCOPES);
  ASSERT_GT(program, 0);
  ::kill(program, SIGKILL);
  EXPECT_EQ(launched.wait(), 128 + SIGKILL);
  EXPECT_GE(spans_in(file(), "work"), 10u);
  EXPECT_EQ(metadata_in(file(), "program_ended"), R"({"signal": 9})");
}

TEST_F(Run, LeavesAFileThatOpensWhenItIsKilledTogetherWithTheProgram) {
  Launched launched(dir_, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "wait", "ready"}));
  ASSERT_TRUE(wait_for_file(dir_.file("ready")));
  ::kill(-launched.pid(), SIGKILL);
  EXPECT_EQ(launched.wait(), -SIGKILL);
  EXPECT_GE(spans_in(file(), "work"), 10u);
}

TEST_F(Run, RecordsWhatAScriptStarts) {
  const std::string script = dir_.file("train.sh");
  ASSERT_TRUE(write_file_whole(script, "#!/bin/sh\n'" RUN_SCOPES "' work 100 3\n"));
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  EXPECT_EQ(run({script}), 3) << errors_;
  EXPECT_EQ(spans_in(file(), "work"), 100u);
}

TEST_F(Run, LeavesNoFileOfAProgramWithoutTorchAndScopes) {
  EXPECT_EQ(run({"/bin/true"}), 0);
  EXPECT_TRUE(said("nothing was recorded: /bin/true loaded neither libtorch nor Sonde's recorder"))
      << errors_;
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(Run, LeavesNoFileOfAProgramThatRanNoScope) {
  EXPECT_EQ(run({RUN_SCOPES, "work", "0"}), 0);
  EXPECT_TRUE(said("nothing was recorded: " RUN_SCOPES " ran no operator and no scope")) << errors_;
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_FALSE(std::filesystem::exists(file() + ".live"));
}

#ifdef RUN_STATIC
TEST_F(Run, SaysThatAStaticProgramCannotBeRecorded) {
  EXPECT_EQ(run({RUN_STATIC}), 5);
  EXPECT_TRUE(said("nothing was recorded: " RUN_STATIC " is linked statically")) << errors_;
}
#endif

TEST_F(Run, SaysLikeAShellThatAProgramCannotBeStarted) {
  EXPECT_EQ(run({"no-such-program"}), 127);
  EXPECT_EQ(errors_, "sonde: no-such-program: command not found\n");
  EXPECT_EQ(run({"./no-such-program"}), 127);
  EXPECT_EQ(errors_, "sonde: ./no-such-program: No such file or directory\n");
  EXPECT_EQ(run({"/"}), 126);
  EXPECT_EQ(errors_, "sonde: /: Is a directory\n");
  ASSERT_TRUE(write_file_whole(dir_.file("data"), "no program\n"));
  EXPECT_EQ(run({"./data"}), 126);
  EXPECT_EQ(errors_, "sonde: ./data: Permission denied\n");
}

// The program then has its own files under these numbers, to which nobody else may write.
TEST_F(Run, RecordsAProgramThatClosesAllDescriptors) {
  EXPECT_EQ(run({RUN_SCOPES, "daemon", "200000"}), 0);
  EXPECT_EQ(spans_in(file(), "work"), 400'000u);
  EXPECT_TRUE(said("nothing lost")) << errors_;
  EXPECT_FALSE(std::filesystem::exists(file() + ".live"));
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(std::filesystem::file_size(dir_.file("own-" + std::to_string(i))), 0u) << i;
  }
}

TEST_F(Run, SaysThatNothingCouldBeWritten) {
  EXPECT_EQ(run({RUN_SCOPES, "limit", "100000"}), 0);
  EXPECT_TRUE(said("run.sonde: cannot write: File too large")) << errors_;
  EXPECT_TRUE(said("events that could not be written: ")) << errors_;
}

TEST_F(Run, SaysThatItsFileWasRemoved) {
  Launched launched(dir_, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "wait", "ready"}));
  ASSERT_TRUE(wait_for_file(dir_.file("ready")));
  std::filesystem::remove(file());
  ::kill(program_of(launched, RUN_SCOPES), SIGTERM);
  launched.wait();
  EXPECT_NE(launched.errors().find("run.sonde: was moved or deleted during recording"),
            std::string::npos)
      << launched.errors();
  EXPECT_EQ(launched.errors().find("nothing was recorded"), std::string::npos) << launched.errors();
}

// Its events are not read, and its end is not known without them.
TEST_F(Run, DoesNotSayHowLongALargeRecordingOfAKilledProgramIs) {
  EXPECT_EQ(run({RUN_SCOPES, "trap", "2000000"}), 128 + SIGILL);
  EXPECT_TRUE(said("keep the two files together")) << errors_;
  EXPECT_FALSE(said("0 ns")) << errors_;
}

// Nor /dev/null, which would be gone for everyone.
TEST_F(Run, DoesNotReplaceWhatIsNoFile) {
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  EXPECT_EQ(run({RUN_SCOPES, "work", "10"}), 0);
  EXPECT_TRUE(said("run.sonde: is not a regular file")) << errors_;
  EXPECT_TRUE(said("sonde: nothing was recorded\n")) << errors_;
  EXPECT_TRUE(std::filesystem::is_fifo(file()));
  EXPECT_FALSE(std::filesystem::exists(file() + ".live"));
}

TEST_F(Run, SaysNothingWhenAskedTo) {
  EXPECT_EQ(run({RUN_SCOPES, "abort", "10"}, {"--quiet"}), 128 + SIGABRT);
  EXPECT_EQ(errors_, "");
  EXPECT_EQ(spans_in(file(), "work"), 10u);
}

TEST_F(Run, KeepsOnlyTheOldestWithASmallBudgetAndTellsWhatWasDropped) {
  EXPECT_EQ(run({RUN_SCOPES, "work", "3000000"}, {"--policy", "drop", "--budget", "4M"}), 0);
  EXPECT_LT(spans_in(file(), "work"), 3'000'000u);
  EXPECT_TRUE(said("events dropped because the buffers were full")) << errors_;
}

TEST_F(Run, LeavesEverythingThatThePreloadedProgramPreloadsItself) {
  Launched launched(dir_, sonde_run({"--", RUN_SCOPES, "environment"}),
                    {{"LD_PRELOAD", "libm.so.6"}});
  EXPECT_EQ(launched.wait(), 0);
  EXPECT_NE(launched.output().find("libsonde_preload.so:libm.so.6 "), std::string::npos)
      << launched.output();
}

}  // namespace
}  // namespace sonde::testing
