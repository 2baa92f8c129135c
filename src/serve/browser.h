// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Opens the user's browser. Command lines are visible to all users of a machine, so the address
// with its token goes into a file that only the user can read, and the browser is given that file.

#include <string>

#include "sonde/result.h"

namespace sonde::detail {

// Removes the file when it goes out of scope.
class BrowserFile {
 public:
  static Result<BrowserFile> create(const std::string& address);
  BrowserFile(BrowserFile&& other) noexcept;
  BrowserFile(const BrowserFile&) = delete;
  BrowserFile& operator=(const BrowserFile&) = delete;
  BrowserFile& operator=(BrowserFile&&) = delete;
  ~BrowserFile();
  const std::string& path() const { return path_; }

 private:
  explicit BrowserFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Whether there is a desktop that could show one.
bool has_desktop();
// Starts it and does not wait; false if there is no program that opens files.
bool open_in_browser(const std::string& path);

}  // namespace sonde::detail
