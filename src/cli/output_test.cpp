// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "cli/testing/printed.h"

namespace sonde::cli {
namespace {

TEST(Output, WritesMoreThanItsBufferInOrder) {
  std::string expected;
  const std::string text = printed([&](Output& out) {
    for (int i = 0; i < 50'000; ++i) {
      expected += std::to_string(i) + "\n";
      out.line(std::to_string(i));
    }
  });
  EXPECT_EQ(text, expected);
}

TEST(Output, ReportsAFullDisk) {
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  Output out(full, "standard output");
  out.write("text");
  const Result<void> finished = out.finish();
  ::close(full);
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, ErrorCode::Io);
  EXPECT_EQ(finished.error().message, "standard output: cannot write: No space left on device");
  EXPECT_FALSE(out.reader_left());
}

TEST(Output, KnowsThatItsReaderLeft) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  Output out(ends[1], "standard output");
  out.write(std::string(100'000, 'x'));
  EXPECT_FALSE(out.ok());
  EXPECT_TRUE(out.reader_left());
  EXPECT_FALSE(out.finish());
  std::signal(SIGPIPE, before);
  ::close(ends[1]);
}

TEST(Output, IsReadableInPipesAndFilesToo) {
  constexpr std::string_view kHostile = "\x1b]0;evil\x07 \u202e \xff\n";
  EXPECT_EQ(printed([&](Output& out) { out.write(kHostile); }),
            "\\x1b]0;evil\\x07 \\xe2\\x80\\xae \\xff\n");
  Output kept;
  kept.line("\x1b");
  EXPECT_EQ(kept.take(), "\\x1b\n");
}

TEST(Output, KeepsEveryByteForPrograms) {
  constexpr std::string_view kHostile = "\x1b]0;evil\x07 \u202e \xff\n";
  EXPECT_EQ(printed([&](Output& out) {
              out.for_programs();
              out.write(kHostile);
            }),
            kHostile);
}

// As `sonde table --format csv` does with a name from a trace.
TEST(Output, KnowsWhetherATerminalReads) {
  const int reader = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(reader, 0);
  ASSERT_EQ(::grantpt(reader), 0);
  ASSERT_EQ(::unlockpt(reader), 0);
  const int terminal = ::open(::ptsname(reader), O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  Output out(terminal, "standard output");
  out.for_programs();
  out.write("\x1b]0;evil\x07");
  EXPECT_TRUE(out.finish());
  char text[64] = "";
  ASSERT_GT(::read(reader, text, sizeof(text) - 1), 0);
  EXPECT_STREQ(text, "\\x1b]0;evil\\x07");
  ::close(terminal);
  ::close(reader);
}

}  // namespace
}  // namespace sonde::cli
