// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The disk is full or cannot be written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output_file.h"
#include "collect/testing/recorded.h"
#include "sonde/record.h"
#include "trace/testing/temp_dir.h"

namespace sonde::testing {
namespace {

// Runs `body` in a separate process that sees a file system of `bytes` at `folder`; returns its
// exit status. 77: such a file system cannot be created here.
template <typename Body>
int in_small_file_system(const std::string& folder, const std::string& bytes, Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool own = ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    if (!own || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder.c_str(), "tmpfs", 0, ("size=" + bytes).c_str()) != 0) {
      ::_exit(77);
    }
    body();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

constexpr std::uint64_t kScopes = 200'000;

void record_on_a_full_disk(const std::string& path) {
  SessionOptions options;
  options.output = path;
  options.compress = false;
  const auto session = open_session(options);
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(session->begin_window(0));
  for (std::uint64_t i = 0; i < kScopes; ++i) {
    SONDE_SCOPE("work");
  }
  session->end_window();
  const auto closed = session->close();
  ASSERT_FALSE(closed);
  EXPECT_THAT(closed.error().message,
              ::testing::HasSubstr("full.sonde: cannot write: No space left on device"));

  const auto trace = open_sonde(path);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_GT(trace->spans().size(), 1'000u);
  EXPECT_EQ(ledger_sum(*trace, LedgerKind::NotCrashSafe), 1u);
  const std::uint64_t written = ledger_sum(*trace, LedgerKind::EventsWritten);
  const std::uint64_t lost = ledger_sum(*trace, LedgerKind::Unwritten);
  EXPECT_EQ(written + lost, 2 * kScopes) << "the ledger itself found room, and its sum is right";
  EXPECT_EQ(ledger_sum(*trace, LedgerKind::Truncated), 0u);
}

TEST(FullDisk, KeepsWhatFitsAndCountsTheRest) {
  const TempDir dir;
  const int status = in_small_file_system(dir.path(), "512k",
                                          [&] { record_on_a_full_disk(dir.file("full.sonde")); });
  if (status == 77) GTEST_SKIP() << "no permission to mount a small file system";
  EXPECT_EQ(status, 0);
}

// Writes a file of 5 MB while a recording runs beside it.
void write_beside_a_recording(const TempDir& dir) {
  const auto session = open_session({.output = dir.file("run.sonde")});
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(session->begin_window(0));
  const std::string own(std::size_t{5} << 20, 'x');
  EXPECT_TRUE(write_file_whole(dir.file("own"), own));
  session->end_window();
  EXPECT_TRUE(session->close());
}

TEST(NearlyFullDisk, HasRoomForTheProgramsOwnFiles) {
  const TempDir dir;
  const int status =
      in_small_file_system(dir.path(), "260m", [&] { write_beside_a_recording(dir); });
  if (status == 77) GTEST_SKIP() << "no permission to mount a small file system";
  EXPECT_EQ(status, 0);
}

TEST(ReadOnlyFolder, IsNamedInTheError) {
  const auto session = Session::open({.output = "/proc/run.sonde"});
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().message, ::testing::HasSubstr("/proc/run.sonde: cannot create: "));
}

}  // namespace
}  // namespace sonde::testing
