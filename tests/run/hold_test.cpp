// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `sonde run` must never do: damage another recording, lose the program's status, or keep a
// program from running where little may be written.

#include <sys/resource.h>

#include <fstream>

#include "launched.h"

namespace sonde::testing {
namespace {

namespace fs = std::filesystem;

TEST(TwoRuns, OfOneNameLeaveEachOtherAlone) {
  const TempDir dir;
  Launched first(dir, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "wait", "ready-1"}));
  ASSERT_TRUE(wait_for_file(dir.file("ready-1")));
  fs::rename(dir.file("run.sonde"), dir.file("moved.sonde"));
  Launched second(dir, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "wait", "ready-2"}));
  ASSERT_TRUE(wait_for_file(dir.file("ready-2")));
  ::kill(program_of(first, RUN_SCOPES), SIGKILL);
  EXPECT_EQ(first.wait(), 128 + SIGKILL);
  EXPECT_NE(first.errors().find("run.sonde: was replaced by another recording"), std::string::npos)
      << first.errors();
  EXPECT_GE(spans_in(dir.file("moved.sonde"), "work"), 10u);
  ::kill(program_of(second, RUN_SCOPES), SIGKILL);
  EXPECT_EQ(second.wait(), 128 + SIGKILL);
  EXPECT_GE(spans_in(dir.file("run.sonde"), "work"), 10u) << second.errors();
  EXPECT_EQ(second.errors().find("is another recording"), std::string::npos) << second.errors();
  EXPECT_EQ(files_ending_in(dir.path(), ".live").size(), 1u)
      << "the moved file still needs its own";
}

// While the program waits, takes away the memory that `sonde run` needs for its summary.
int status_with_little_memory(const TempDir& dir, const std::vector<std::string>& options) {
  std::vector<std::string> words = options;
  words.insert(words.end(),
               {"-o", "run.sonde", "--", RUN_SCOPES, "held", "4000000", "ready", "go"});
  Launched launched(dir, sonde_run(words));
  EXPECT_TRUE(wait_for_file(dir.file("ready")));
  const rlimit tight = {std::uint64_t{80} << 20, std::uint64_t{80} << 20};
  EXPECT_EQ(::prlimit(launched.pid(), RLIMIT_AS, &tight, nullptr), 0);
  std::ofstream(dir.file("go")) << "";
  return launched.wait();
}

TEST(Status, IsTheProgramsWhenTheSummaryRunsOutOfMemory) {
  for (const auto& options : {std::vector<std::string>{}, {"-q"}}) {
    const TempDir dir;
    EXPECT_EQ(status_with_little_memory(dir, options), 42);
  }
}

TEST(Commands, SayThatMemoryRanOut) {
  const TempDir dir;
  Launched recorded(dir, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "work", "20000000"}));
  ASSERT_EQ(recorded.wait(), 0);
  // Each of them ends another step of opening.
  for (const std::string limit : {"80000", "100000", "120000", "140000", "160000"}) {  // KiB
    Launched table(
        dir, {"/bin/sh", "-c", "ulimit -v " + limit + "; '" SONDE_PROGRAM "' table run.sonde"});
    EXPECT_EQ(table.wait(), 1) << limit;
    EXPECT_NE(table.errors().find("sonde: not enough memory"), std::string::npos)
        << limit << ": " << table.errors();
  }
}

// Threads read the text while it is inflated, and memory runs out for any of them.
TEST(Commands, SayThatMemoryRanOutWhileTheyInflate) {
  const TempDir dir;
  Launched recorded(dir, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "work", "200000"}));
  ASSERT_EQ(recorded.wait(), 0);
  Launched exported(dir, {SONDE_PROGRAM, "export", "run.sonde", "-o", "run.json.gz"});
  ASSERT_EQ(exported.wait(), 0);
  for (int limit = 60'000; limit <= 150'000; limit += 3'000) {  // KiB
    Launched table(
        dir, {"/bin/sh", "-c",
              "ulimit -v " + std::to_string(limit) + "; '" SONDE_PROGRAM "' table run.json.gz"});
    const int status = table.wait();
    if (status == 0) break;
    EXPECT_EQ(status, 1) << limit << ": " << table.errors();
    EXPECT_NE(table.errors().find("memory"), std::string::npos) << limit << ": " << table.errors();
  }
}

// A summary in constant memory can say no more than that.
TEST(Summary, OfALargeRecordingComesFromItsCounts) {
  const TempDir dir;
  std::ofstream(dir.file("go")) << "";
  Launched launched(
      dir, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "held", "4000000", "ready", "go"}));
  EXPECT_EQ(launched.wait(), 42);
  EXPECT_NE(launched.errors().find("4,000,000 spans"), std::string::npos) << launched.errors();
  EXPECT_NE(launched.errors().find("nothing lost"), std::string::npos) << launched.errors();
}

TEST(Status, IsTheProgramsWhenItsFileIsDamaged) {
  const TempDir dir;
  Launched launched(dir,
                    sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "held", "10", "ready", "go"}));
  ASSERT_TRUE(wait_for_file(dir.file("ready")));
  fs::resize_file(dir.file("run.sonde"), 70);
  std::ofstream(dir.file("go")) << "";
  EXPECT_EQ(launched.wait(), 42);
}

// `blocks` of 512 bytes, as in sh.
int run_limited(const TempDir& dir, const std::string& blocks, std::string& errors) {
  const std::string command = "ulimit -f " + blocks +
                              "; exec '" SONDE_PROGRAM "' run -o run.sonde -- '" RUN_SCOPES
                              "' work 1000000 5";
  Launched launched(dir, {"/bin/sh", "-c", command});
  const int status = launched.wait();
  errors = launched.errors();
  return status;
}

TEST(FileSizeLimit, DoesNotKillTheProgramNorTheRun) {
  for (const char* const blocks : {"1", "100", "2000", "20000"}) {
    const TempDir dir;
    std::string errors;
    EXPECT_EQ(run_limited(dir, blocks, errors), 5) << blocks << ": " << errors;
    EXPECT_EQ(errors.find("loaded neither"), std::string::npos) << blocks << ": " << errors;
  }
}

TEST(FileSizeLimit, IsNamedWhereNothingMayBeWritten) {
  const TempDir dir;
  // Messages go through a pipe, because files may hold nothing.
  const std::string command = "(ulimit -f 0; '" SONDE_PROGRAM "' run -o run.sonde -- '" RUN_SCOPES
                              "' work 1000 5 2>&1; echo status $?) | cat";
  Launched launched(dir, {"/bin/sh", "-c", command});
  EXPECT_EQ(launched.wait(), 0);
  EXPECT_NE(launched.output().find("status 5"), std::string::npos) << launched.output();
  EXPECT_NE(launched.output().find("ulimit -f"), std::string::npos) << launched.output();
}

TEST(Tmpdir, ThatWillNotDoKeepsNothingFromBeingRecorded) {
  for (const char* const folder : {"/no/such/folder", "here", "nowhere", "/proc", "/dev/null"}) {
    const TempDir dir;
    fs::create_directory(dir.file("here"));
    Launched launched(dir, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "work", "100", "5"}),
                      {{"TMPDIR", folder}});
    EXPECT_EQ(launched.wait(), 5) << folder;
    EXPECT_NE(launched.errors().find("run.sonde: 100 spans in "), std::string::npos)
        << folder << ": " << launched.errors();
    EXPECT_TRUE(fs::is_empty(dir.file("here")));
  }
}

// As in a shell: a file that begins with a line of text may be a script, any other is not.
TEST(Status, Is126IfTheFileIsNoProgram) {
  const TempDir dir;
  for (const auto& [text, status] : {std::pair<std::string, int>{{"\x7f"
                                                                  "ELF\0\1",
                                                                  6},
                                                                 126},
                                     {"\177ELF cut off", 126},
                                     {{"MZ\0\0", 4}, 126},
                                     {"exit 7\n", 7},
                                     {"", 0}}) {
    std::ofstream(dir.file("program")) << text;
    fs::permissions(dir.file("program"), fs::perms::owner_all);
    Launched launched(dir, sonde_run({"-q", "--", "./program"}));
    EXPECT_EQ(launched.wait(), status) << launched.errors();
  }
}

// Only Sonde's threads are left then, which nobody else would end.
TEST(Program, EndsWithItsLastThread) {
  const TempDir dir;
  Launched launched(dir, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "last-thread", "100"}));
  EXPECT_EQ(launched.wait(), 0) << launched.errors();
  EXPECT_EQ(spans_in(dir.file("run.sonde"), "work"), 300u) << launched.errors();
}

TEST(Thread, ThatMayNotReadTheCounterIsRecorded) {
  const TempDir dir;
  Launched launched(dir, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "no-counter", "100"}));
  EXPECT_EQ(launched.wait(), 0) << launched.errors();
  const auto trace = open_sonde(dir.file("run.sonde"));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count_spans(*trace, "work"), 300u);
  Nanos before = 0;
  for (const SpanId span : trace->all_spans()) {  // in the order of their begins
    EXPECT_GE(trace->spans().start_ns[span], before);
    before = trace->spans().start_ns[span];
  }
  EXPECT_LT(trace->last_ns() - trace->first_ns(), Nanos{10'000'000'000});
}

TEST(Thread, UnderStrictSeccompEndsAsItWould) {
  const TempDir dir;
  Launched launched(dir, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "strict", "100"}));
  EXPECT_EQ(launched.wait(), 0) << launched.errors();
  EXPECT_GE(spans_in(dir.file("run.sonde"), "work"), 100u);
  EXPECT_TRUE(files_ending_in(dir.path(), ".live").empty());
}

// There it is process 1, and in this namespace a process of that number never ends.
TEST(PidNamespace, OfItsOwnDoesNotMakeARecordingLookUnfinished) {
  const TempDir dir;
  Launched launched(dir, sonde_run({"-o", "run.sonde", "--", "/usr/bin/unshare", "--fork", "--pid",
                                    RUN_SCOPES, "work", "100", "6"}));
  if (launched.wait() != 6) GTEST_SKIP() << "no permission to make a PID namespace";
  EXPECT_NE(launched.errors().find("run.sonde: 100 spans in "), std::string::npos)
      << launched.errors();
  EXPECT_EQ(launched.errors().find("still runs"), std::string::npos) << launched.errors();
}

// A program that changes its root cannot reach the live file to remove it.
TEST(LiveFile, IsRemovedWhereTheProgramCouldNot) {
  const TempDir dir;
  if (::geteuid() != 0) GTEST_SKIP() << "no permission to change the root";
  Launched launched(dir, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "chroot", "100"}));
  EXPECT_EQ(launched.wait(), 0) << launched.errors();
  EXPECT_GE(spans_in(dir.file("run.sonde"), "work"), 100u);
  EXPECT_TRUE(files_ending_in(dir.path(), ".live").empty());
}

}  // namespace
}  // namespace sonde::testing
