// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/snapshot/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sonde {
namespace {

using ::testing::HasSubstr;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// The texts are from Python's pickle.dumps(). The literal's size is their length: they hold zeros.
template <std::size_t N>
Result<Pickle> read(const char (&text)[N]) {
  return Pickle::read(bytes_of({text, N - 1}), "x.pickle");
}

TEST(Pickle, ReadsDictionariesListsAndNumbers) {
  // {'a': [1, 300, -2, 1 << 40, None], 'b': ('x', True)}
  const Result<Pickle> pickle = read(
      "\x80\x04\x95\x2b\0\0\0\0\0\0\0}\x94(\x8c\x01"
      "a\x94]\x94(K\x01M\x2c\x01J\xfe\xff\xff\xff\x8a\x06\0\0\0\0\0\x01Ne\x8c\x01"
      "b\x94\x8c\x01x\x94\x88\x86\x94u.");
  ASSERT_TRUE(pickle.has_value());
  const PickleRef list = pickle->root()["a"];
  ASSERT_EQ(list.size(), 5U);
  EXPECT_EQ(list[0].integer(), 1);
  EXPECT_EQ(list[1].integer(), 300);
  EXPECT_EQ(list[2].integer(), -2);
  EXPECT_EQ(list[3].integer(), std::int64_t{1} << 40);
  EXPECT_FALSE(list[4].is_integer());
  EXPECT_EQ(pickle->root()["b"][0].text(), "x");
  EXPECT_EQ(pickle->root()["b"][1].integer(), 1);
  EXPECT_FALSE(pickle->root()["c"].valid());
}

TEST(Pickle, SharesWhatIsRememberedAndFetched) {
  // ['ab', 'ab'], the same text twice
  const Result<Pickle> pickle = read(
      "\x80\x04]\x94(\x8c\x02"
      "ab\x94h\x01"
      "e.");
  ASSERT_TRUE(pickle.has_value());
  EXPECT_EQ(pickle->root()[1].text(), "ab");
  EXPECT_EQ(pickle->root()[0].identity(), pickle->root()[1].identity());
}

TEST(Pickle, RefusesToRunCode) {
  // os.system('true')
  const Result<Pickle> pickle =
      read("\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94.");
  ASSERT_FALSE(pickle.has_value());
  EXPECT_EQ(pickle.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(
      pickle.error().message,
      "x.pickle: the pickle imports something at byte 19; Sonde reads only data and runs no code");
  for (const char opcode : {'c', 'R', 'b', 'i', 'o', 'P', 'Q', '\x81', '\x82', '\x92', '\x97'}) {
    const std::string text = std::string("\x80\x04NN") + opcode + ".";
    EXPECT_EQ(Pickle::read(bytes_of(text), "x").error().code, ErrorCode::Unsupported);
  }
}

TEST(Pickle, NamesTheByteWhereItBreaksOff) {
  EXPECT_THAT(read("\x80\x04]").error().message, HasSubstr("ends inside the pickle at byte 3"));
  EXPECT_THAT(read("\x80\x04X\xff\xff\xff\x7f.").error().message, HasSubstr("past the end"));
  EXPECT_THAT(read("\x80\x04\x61.").error().message, HasSubstr("a value is missing at byte 2"));
  EXPECT_THAT(read("\x80\x04h\x05.").error().message, HasSubstr("byte 2"));
  EXPECT_THAT(read("\x80\x04.").error().message, HasSubstr("without a value"));
}

// Each byte makes an empty list, and millions of them compress to nothing.
TEST(Pickle, IsRefusedIfItsValuesTakeTooMuchMemory) {
  const std::string text = "\x80\x04" + std::string(1000, ']') + ".";
  EXPECT_TRUE(Pickle::read(bytes_of(text), "x.pickle", 100'000));
  const Result<Pickle> refused = Pickle::read(bytes_of(text), "x.pickle", 50'000);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("more than 48.8 KiB of memory"));
  EXPECT_THAT(refused.error().message, HasSubstr("--no-size-limit"));
}

TEST(Pickle, MayContainItself) {
  const Result<Pickle> pickle = read("\x80\x04]\x94h\0a.");
  ASSERT_TRUE(pickle.has_value());
  EXPECT_EQ(pickle->root()[0].identity(), pickle->root().identity());
}

}  // namespace
}  // namespace sonde
