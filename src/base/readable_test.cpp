// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/readable.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(Readable, LeavesOrdinaryTextAlone) {
  for (const char* const text : {"", "plain\ttext\n", "µs … 你 😀", "back\\slash"})
    EXPECT_EQ(readable_text(text), text);
}

TEST(Readable, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(readable_text("\x1b[2J\r\x7f"), R"(\x1b[2J\x0d\x7f)");
  EXPECT_EQ(readable_text("\xc2\x9b"
                          "31m"),
            R"(\xc2\x9b31m)");
  EXPECT_EQ(readable_text(std::string_view("\0", 1)), R"(\x00)");
}

TEST(Readable, ShowsWhatWouldReorderText) {
  for (const char* const mark :
       {"\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069", "\u2028", "\u2029"}) {
    const std::string shown = readable_text(mark);
    EXPECT_EQ(shown.substr(0, 2), "\\x") << shown;
    EXPECT_EQ(shown.size(), 4 * std::string_view(mark).size());
  }
  EXPECT_EQ(readable_text("a\u202eb"), R"(a\xe2\x80\xaeb)");
  EXPECT_EQ(readable_text("\u2027\u202f\u2065\u206a"), "\u2027\u202f\u2065\u206a");
}

TEST(Readable, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(readable_text("a\xff"), R"(a\xff)");
  EXPECT_EQ(readable_text("\xe2\x80"), R"(\xe2\x80)");
  EXPECT_EQ(readable_text("\x9b"
                          "1m"),
            R"(\x9b1m)");                               // C1 in Latin-1
  EXPECT_EQ(readable_text("\xc0\x9b"), R"(\xc0\x9b)");  // over-long
}

TEST(Readable, PutsANameOnOneLine) {
  EXPECT_EQ(readable_line("a\nb\tc\r"), R"(a\nb\tc\x0d)");
}

}  // namespace
}  // namespace sonde
