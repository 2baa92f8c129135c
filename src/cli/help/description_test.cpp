// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/help/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sonde::cli {
namespace {

using ::testing::ElementsAre;

TEST(Description, DividesAFooterIntoNotesAndExamples) {
  DescribedCommand command;
  read_footer("Exits with 3.\nExample:\n  sonde a\n  sonde b --c", command);
  EXPECT_THAT(command.notes, ElementsAre("Exits with 3."));
  EXPECT_THAT(command.examples, ElementsAre("sonde a", "sonde b --c"));
}

TEST(Description, UsageMarksWhatMayBeLeftOutAndRepeated) {
  const DescribedCommand command{.name = "sonde export",
                                 .options = {{.names = {"--x"}}},
                                 .arguments = {{.value = "TRACE", .is_required = true},
                                               {.value = "OTHER", .is_repeated = true}}};
  EXPECT_EQ(usage_of(command), "[OPTIONS] TRACE [OTHER...]");
}

TEST(Description, AProgramToRunStandsAfterTheMark) {
  const DescribedCommand command{.name = "sonde run",
                                 .options = {{.names = {"--x"}}},
                                 .arguments = {{.value = "PROGRAM", .is_repeated = true}}};
  EXPECT_EQ(usage_of(command), "[OPTIONS] -- [PROGRAM...]");
}

TEST(Description, OffersFilesWhereFilesAreMeant) {
  EXPECT_EQ(offered({.value = "TRACE"}), Offer::Files);
  EXPECT_EQ(offered({.names = {"--record"}, .value = "FILE.sondebase"}), Offer::Files);
  EXPECT_EQ(offered({.names = {"-o", "--output"}, .value = "PATTERN"}), Offer::Files);
  EXPECT_EQ(offered({.names = {"--remove"}, .value = "PATTERN"}), Offer::Nothing);
  EXPECT_EQ(offered({.names = {"--format"}, .value = "FORMAT", .choices = {"text"}}),
            Offer::Choices);
}

TEST(Description, ListsACommandBeforeThoseBelowIt) {
  const DescribedCommand program{
      .name = "sonde",
      .commands = {{.name = "sonde torch", .commands = {{.name = "sonde torch build"}}}}};
  const auto all = with_all_below(program);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(page_name(*all[2]), "sonde-torch-build");
  EXPECT_EQ(last_word(*all[2]), "build");
}

}  // namespace
}  // namespace sonde::cli
