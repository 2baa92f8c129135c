// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/changed_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/output_file.h"
#include "trace/testing/temp_dir.h"

namespace sonde::cli {
namespace {

TEST(ChangedFiles, EndTheProgramWithASentence) {
  const testing::TempDir dir;
  const std::string path = dir.file("a.sonde");
  ASSERT_TRUE(write_file_whole(path, std::string(1 << 16, 'x')));
  const auto read_while_it_is_cut = [&] {
    end_if_files_change();
    const auto file = MappedFile::open(path);
    std::filesystem::resize_file(path, 0);
    volatile std::uint8_t last = file->bytes().back();
    static_cast<void>(last);
  };
  EXPECT_EXIT(read_while_it_is_cut(), ::testing::ExitedWithCode(1),
              "a file was changed or cut while it was read");
}

}  // namespace
}  // namespace sonde::cli
