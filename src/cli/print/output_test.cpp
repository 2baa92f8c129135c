// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/print/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
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

// A pseudo-terminal of 70 columns.
class Terminal {
 public:
  Terminal() : main_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    if (main_ < 0 || ::grantpt(main_) != 0 || ::unlockpt(main_) != 0) return;
    side_ = ::open(::ptsname(main_), O_RDWR | O_NOCTTY);  // NOLINT(concurrency-mt-unsafe)
    const winsize size{.ws_row = 20, .ws_col = 70, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(side_, TIOCSWINSZ, &size);
  }
  ~Terminal() {
    ::close(side_);
    ::close(main_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  int descriptor() const { return side_; }
  std::string shown() const {
    char text[256];
    const ssize_t size = ::read(main_, text, sizeof(text));
    return {text, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  int main_ = -1;
  int side_ = -1;
};

TEST(Output, HasColoursOnATerminalThatWantsThem) {
  const auto shown = [](const char* no_colour) {
    ::setenv("TERM", "xterm", 1);
    ::setenv("NO_COLOR", no_colour, 1);
    const Terminal terminal;
    Output out(terminal.descriptor(), "the terminal");
    EXPECT_EQ(out.terminal_width(), 70U);
    out.styled_line(Output::Style::Bold, "slow\x1b");
    EXPECT_TRUE(out.finish());
    ::unsetenv("NO_COLOR");
    return terminal.shown();
  };
  EXPECT_EQ(shown(""), "\x1b[1mslow\\x1b\x1b[0m\r\n");
  EXPECT_EQ(shown("1"), "slow\\x1b\r\n");
}

TEST(Output, HasNeitherColoursNorAWidthInAPipe) {
  EXPECT_EQ(printed([](Output& out) {
              EXPECT_EQ(out.terminal_width(), 0U);
              out.styled_line(Output::Style::Warning, "lost");
            }),
            "lost\n");
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
