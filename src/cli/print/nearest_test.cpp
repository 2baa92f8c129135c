// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/print/nearest.h"

#include <gtest/gtest.h>

namespace sonde::cli {
namespace {

const std::vector<std::string> kWords = {"info", "table", "report", "--format", "--row-limit"};

TEST(Nearest, FindsWhatWasMeant) {
  EXPECT_EQ(nearest("inof", kWords), "info");
  EXPECT_EQ(nearest("tabel", kWords), "table");
  EXPECT_EQ(nearest("--fromat", kWords), "--format");
  EXPECT_EQ(nearest("--row-limt", kWords), "--row-limit");
}

TEST(Nearest, DoesNotGuessWildly) {
  EXPECT_EQ(nearest("x", kWords), "");
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest("memory", kWords), "");
  EXPECT_EQ(nearest(std::string(1000, 'r'), kWords), "");
}

}  // namespace
}  // namespace sonde::cli
