// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "symbols/symboliser.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

struct Place {
  std::uint64_t offset = 0;
  int line = 0;
};

// Where the caller of this function continues.
__attribute__((noinline)) std::uint64_t return_offset() {
  const auto address = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  Dl_info info = {};
  link_map* map = nullptr;
  ::dladdr1(reinterpret_cast<void*>(address), &info, reinterpret_cast<void**>(&map),
            RTLD_DL_LINKMAP);
  return map != nullptr ? address - map->l_addr : 0;
}

__attribute__((noinline)) Place plain_function(int& counter) {
  Place place = {return_offset(), __LINE__};
  ++counter;  // so that the call above is not a jump
  return place;
}

__attribute__((always_inline)) inline Place inner(int& counter) {
  Place place = {return_offset(), __LINE__};
  ++counter;
  return place;
}

int line_of_inlining = 0;

__attribute__((noinline)) Place outer_function(int& counter) {
  line_of_inlining = __LINE__ + 1;
  return inner(counter);
}

std::string this_program() {
  char path[4096] = "";
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path) - 1);
  return {path, static_cast<std::size_t>(size > 0 ? size : 0)};
}

TEST(Symboliser, GivesNothingForABinaryThatIsNotThere) {
  Symboliser symboliser;
  EXPECT_TRUE(symboliser.frames_at("/nowhere/libgone.so", "", 0x1000).empty());
}

TEST(Symboliser, GivesNothingForABinaryThatIsNoBinary) {
  Symboliser symboliser;
  EXPECT_TRUE(symboliser.frames_at("/etc/passwd", "", 0x1000).empty());
}

TEST(Symboliser, DoesNotWaitForAPipe) {
  const testing::TempDir dir;
  ASSERT_EQ(::mkfifo(dir.file("pipe").c_str(), 0600), 0);
  Symboliser symboliser;
  EXPECT_TRUE(symboliser.frames_at(dir.file("pipe"), "", 0x1000).empty());
}

#if SONDE_HAS_LIBDW

TEST(Symboliser, FindsFunctionFileAndLineOfACall) {
  int counter = 0;
  const Place place = plain_function(counter);
  Symboliser symboliser;
  const auto frames = symboliser.frames_at(this_program(), "", place.offset);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_THAT(frames[0].function, HasSubstr("plain_function(int&)"));
  EXPECT_THAT(frames[0].file, EndsWith("symboliser_test.cpp"));
  EXPECT_EQ(frames[0].line, place.line);
}

TEST(Symboliser, ShowsInlinedFunctionsInsideTheirCaller) {
  int counter = 0;
  const Place place = outer_function(counter);
  Symboliser symboliser;
  const auto frames = symboliser.frames_at(this_program(), "", place.offset);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_THAT(frames[0].function, HasSubstr("inner"));
  EXPECT_EQ(frames[0].line, place.line);
  EXPECT_THAT(frames[1].function, HasSubstr("outer_function(int&)"));
  EXPECT_THAT(frames[1].file, EndsWith("symboliser_test.cpp"));
  EXPECT_EQ(frames[1].line, line_of_inlining);
}

TEST(Symboliser, GivesNothingForABinaryThatIsAnotherByNow) {
  int counter = 0;
  const Place place = plain_function(counter);
  Symboliser symboliser;
  EXPECT_TRUE(symboliser.frames_at(this_program(), "00112233", place.offset).empty());
}

TEST(Symboliser, GivesNothingForAnAddressOutsideTheBinary) {
  Symboliser symboliser;
  EXPECT_TRUE(symboliser.frames_at(this_program(), "", ~std::uint64_t{0} / 2).empty());
  EXPECT_TRUE(symboliser.frames_at(this_program(), "", 0).empty());
}

#endif

}  // namespace
}  // namespace sonde
