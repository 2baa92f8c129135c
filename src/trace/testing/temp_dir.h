// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A folder for one test, removed with all that is in it.
//
//   const TempDir dir;
//   save_trace(trace, dir.file("a.sonde"));

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace sonde::testing {

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "sonde-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace sonde::testing
