// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/changed_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "base/file.h"
#include "base/output_file.h"
#include "trace/testing/temp_dir.h"

namespace sonde::cli {
namespace {

class ChangedFiles : public ::testing::Test {
 protected:
  ChangedFiles() { EXPECT_TRUE(write_file_whole(path_, std::string(1 << 16, 'x'))); }

  // Truncates the file, then reads what is gone.
  void cut_it_and(const std::function<void(const MappedFile&)>& read) const {
    end_if_files_change();
    const auto file = MappedFile::open(path_);
    std::filesystem::resize_file(path_, 0);
    read(*file);
  }
  static void read_last(const MappedFile& file) {
    volatile std::uint8_t last = file.bytes().back();
    static_cast<void>(last);
  }

  const testing::TempDir dir_;
  const std::string path_ = dir_.file("a.sonde");
};

constexpr const char* kSentence = "a file was changed or truncated while it was read";

TEST_F(ChangedFiles, EndTheProgramWithASentence) {
  EXPECT_EXIT(cut_it_and(read_last), ::testing::ExitedWithCode(1), kSentence);
}

TEST_F(ChangedFiles, EndTheProgramOnEveryThread) {
  const auto read_elsewhere = [](const MappedFile& file) {
    std::thread([&] { read_last(file); }).join();
  };
  EXPECT_EXIT(cut_it_and(read_elsewhere), ::testing::ExitedWithCode(1), kSentence);
}

}  // namespace
}  // namespace sonde::cli
