// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Limits on what a process may write end the recording, never the program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/testing/recorded.h"
#include "sonde/profiler.h"
#include "sonde/record.h"
#include "trace/testing/temp_dir.h"

namespace sonde::testing {
namespace {

constexpr std::uint64_t kLimitedScopes = 300'000;

// Runs `body` in a separate process where files may have `bytes` bytes. Returns its exit status, or
// -N if signal N killed it.
template <typename Body>
int under_limit(std::uint64_t bytes, Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit = {bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    body();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void record_scopes(const std::string& path) {
  auto session = Session::open({.output = path, .compress = false});
  if (!session) return;  // nothing may be written
  EXPECT_TRUE((*session)->begin_window(0));
  for (std::uint64_t i = 0; i < kLimitedScopes; ++i) {
    SONDE_SCOPE("work");
  }
  (*session)->end_window();
  const auto closed = (*session)->close();
  EXPECT_THAT(closed ? "" : closed.error().message,
              ::testing::AnyOf("", ::testing::HasSubstr("File too large")));
}

class FileSizeLimit : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(FileSizeLimit, EndsTheRecordingAndNotTheProgram) {
  const TempDir dir;
  const std::string path = dir.file("limited.sonde");
  EXPECT_EQ(under_limit(GetParam(), [&] { record_scopes(path); }), 0);
  EXPECT_FALSE(std::filesystem::exists(path + ".live"));
  if (GetParam() < (std::uint64_t{256} << 10)) return;  // no room even for the ledger
  const auto trace = open_sonde(path);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(ledger_sum(*trace, LedgerKind::EventsWritten) +
                ledger_sum(*trace, LedgerKind::Unwritten) +
                ledger_sum(*trace, LedgerKind::DroppedByBudget),
            2 * kLimitedScopes);
}

INSTANTIATE_TEST_SUITE_P(Bytes, FileSizeLimit,
                         ::testing::Values(0, 1, 100, 4096, 100'000, std::uint64_t{512} << 10,
                                           std::uint64_t{8} << 20, std::uint64_t{100} << 20));

TEST(FileSizeLimit, MakesTheLiveFileSmaller) {
  const TempDir dir;
  const std::string path = dir.file("limited.sonde");
  EXPECT_EQ(
      under_limit(std::uint64_t{100} << 20,
                  [&] {
                    const auto session = open_session({.output = path});
                    EXPECT_LE(std::filesystem::file_size(path + ".live"), std::uint64_t{100} << 20);
                    const Trace trace = record_window(*session, [] { SONDE_SCOPE("work"); });
                    EXPECT_EQ(count_spans(trace, "work"), 1u);
                    EXPECT_EQ(ledger_sum(trace, LedgerKind::Note, "the buffers are smaller"), 1u);
                    EXPECT_TRUE(session->close());
                  }),
      0);
}

TEST(FileSizeLimit, ThatIsSetLaterDoesNotKillEither) {
  const TempDir dir;
  const std::string path = dir.file("limited.sonde");
  EXPECT_EQ(under_limit(RLIM_INFINITY,
                        [&] {
                          Profiler profiler({.output = path});
                          profiler.start();
                          const rlimit small = {64, RLIM_INFINITY};
                          ::setrlimit(RLIMIT_FSIZE, &small);
                          for (std::uint64_t i = 0; i < kLimitedScopes; ++i) {
                            SONDE_SCOPE("work");
                          }
                          profiler.add_metadata("late", "too");
                          profiler.stop();
                          EXPECT_FALSE(profiler.close());
                        }),
            0);
}

}  // namespace
}  // namespace sonde::testing
