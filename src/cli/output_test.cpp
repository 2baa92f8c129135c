// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
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

}  // namespace
}  // namespace sonde::cli
