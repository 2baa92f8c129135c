// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/child_output.h"

#include <gtest/gtest.h>

namespace sonde::cli {
namespace {

ChildOutput said_by(const std::string& script, ChildErrors errors = ChildErrors::Kept) {
  auto said = child_output({"/bin/sh", "-c", script}, errors);
  EXPECT_TRUE(said) << said.error().message;
  return said ? *std::move(said) : ChildOutput();
}

TEST(ChildOutput, HoldsAllThatWasSaid) {
  EXPECT_EQ(said_by("echo out; echo err >&2").text, "out\nerr\n");
  EXPECT_EQ(said_by("echo out; echo err >&2", ChildErrors::Dropped).text, "out\n");
  EXPECT_EQ(said_by("head -c 300000 /dev/zero").text.size(), 300'000u);
}

TEST(ChildOutput, TellsHowTheProgramEnded) {
  EXPECT_EQ(said_by("exit 3").status, 3);
  EXPECT_EQ(said_by("kill -TERM $$").status, 128 + 15);
}

TEST(ChildOutput, GivesTheProgramNothingToRead) {
  EXPECT_EQ(said_by("cat; echo end").text, "end\n");
}

TEST(ChildOutput, OfAProgramThatIsNotThereIsAFailure) {
  const auto said = child_output({"/nowhere/program"}, ChildErrors::Kept);
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, ErrorCode::NotFound);
}

TEST(CommandText, IsReadByAShellAsTheSameWords) {
  const std::vector<std::string> words = {"printf", "%s|", "plain/-_.=", "two words", "it's",
                                          "$HOME",  ""};
  EXPECT_EQ(said_by(command_text(words)).text, "plain/-_.=|two words|it's|$HOME||");
}

}  // namespace
}  // namespace sonde::cli
