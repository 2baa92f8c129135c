// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/setup/torch_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/output_file.h"
#include "trace/testing/temp_dir.h"

namespace sonde::cli {
namespace {

class AdapterSourcesTest : public ::testing::Test {
 protected:
  AdapterSourcesTest() {
    std::filesystem::create_directories(dir_.file("lib"));
    write("src/collect/torch/source.cpp", "source");
    write("src/collect/torch/source_test.cpp", "test");
    write("src/collect/torch/inputs.h", "inputs");
    write("include/sonde/source/op.h", "op");
  }
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = dir_.file("share/sonde/adapter/" + name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    EXPECT_TRUE(write_file_whole(path, text));
    return path;
  }
  std::string key() const {
    const auto sources = adapter_sources(dir_.file("lib"));
    return sources ? sources->key : sources.error().message;
  }

  testing::TempDir dir_;
};

TEST_F(AdapterSourcesTest, AreTheSourcesWithoutTheirTests) {
  const auto sources = adapter_sources(dir_.file("lib"));
  ASSERT_TRUE(sources) << sources.error().message;
  EXPECT_THAT(sources->files, ::testing::ElementsAre(
                                  dir_.file("share/sonde/adapter/src/collect/torch/source.cpp")));
  EXPECT_THAT(sources->includes, ::testing::ElementsAre(dir_.file("share/sonde/adapter/include"),
                                                        dir_.file("share/sonde/adapter/src")));
}

TEST_F(AdapterSourcesTest, HaveAnotherKeyWhenOneOfThemOrAHeaderChanges) {
  const std::string before = key();
  EXPECT_EQ(key(), before);
  write("src/collect/torch/source_test.cpp", "another test");
  EXPECT_EQ(key(), before) << "a test is no part of it";
  write("include/sonde/source/op.h", "Op");
  const std::string with_header = key();
  EXPECT_NE(with_header, before);
  write("src/collect/torch/source.cpp", "Source");
  EXPECT_NE(key(), with_header);
}

TEST_F(AdapterSourcesTest, HaveTheSameKeyInTheBuildFolderAsInstalled) {
  const std::string before = key();
  const std::string header = write("generated/sonde/version.h", "1");
  const std::string built = key();
  EXPECT_NE(built, before);
  std::filesystem::rename(header, dir_.file("share/sonde/adapter/include/sonde/version.h"));
  EXPECT_EQ(key(), built);
}

TEST_F(AdapterSourcesTest, ThatAreMissingAreNamed) {
  const auto sources = adapter_sources(dir_.file("lib/nowhere/deeper"));
  ASSERT_FALSE(sources);
  EXPECT_THAT(sources.error().message, ::testing::HasSubstr("lib/nowhere/deeper"));
}

}  // namespace
}  // namespace sonde::cli
