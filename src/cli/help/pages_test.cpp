// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/help/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sonde::cli {
namespace {

using ::testing::HasSubstr;

// tests/help/ has man and the shells read all of it; here is what they would misread silently.
DescribedCommand with_option(DescribedOption option) {
  DescribedCommand program{.name = "sonde", .text = "A program"};
  program.commands.push_back(
      {.name = "sonde it", .text = "Does it", .options = {std::move(option)}});
  return program;
}

TEST(ManualPage, TextIsNotReadAsCommandsOfMan) {
  const DescribedCommand program =
      with_option({.names = {"--x"}, .text = ".json, 'a' or C:\\b - with `sonde x`"});
  const std::string page = manual_page(program.commands[0], program);
  EXPECT_THAT(page, HasSubstr("\n\\&.json, \\(aqa\\(aq or C:\\eb \\- with \\fBsonde x\\fR.\n"));
}

TEST(ManualPage, ShowsValuesThatMayBeLeftOut) {
  const DescribedCommand program =
      with_option({.names = {"--gpu"}, .value = "LEVEL", .text = "t", .value_is_optional = true});
  EXPECT_THAT(manual_page(program.commands[0], program),
              HasSubstr("\\fB\\-\\-gpu\\fR[=\\fILEVEL\\fR]"));
}

TEST(Completions, TextKeepsItsQuotes) {
  const DescribedCommand program = with_option({.names = {"--x"}, .text = "PyTorch's [a:b]"});
  EXPECT_THAT(zsh_completion(program), HasSubstr("[PyTorch'\\''s \\[a\\:b\\]]"));
  EXPECT_THAT(fish_completion(program), HasSubstr("-d 'PyTorch\\'s [a:b]'"));
}

TEST(MarkdownPage, ABarDoesNotEndACell) {
  const DescribedCommand program = with_option({.names = {"--x"}, .text = "a|b"});
  EXPECT_THAT(markdown_page(program), HasSubstr("| ``--x`` | a\\|b |"));
}

}  // namespace
}  // namespace sonde::cli
