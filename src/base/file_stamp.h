// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Detects whether a file was written to while it was read.
//
//   const FileStamp before(path);
//   …
//   if (before.was_written()) …

#include <sys/stat.h>

#include <string>
#include <utility>

namespace sonde {

class FileStamp {
 public:
  explicit FileStamp(std::string path) : path_(std::move(path)), is_known_(look(facts_)) {}

  // False if another file has taken its name: a process that has the old one open still sees all of
  // it.
  bool was_written() const {
    struct stat now{};
    if (!is_known_ || !look(now)) return false;
    const bool is_same = now.st_dev == facts_.st_dev && now.st_ino == facts_.st_ino;
    return is_same && (now.st_size != facts_.st_size || differ(now.st_mtim, facts_.st_mtim));
  }

 private:
  static bool differ(const timespec& a, const timespec& b) {
    return a.tv_sec != b.tv_sec || a.tv_nsec != b.tv_nsec;
  }
  bool look(struct stat& facts) const { return ::stat(path_.c_str(), &facts) == 0; }

  std::string path_;
  struct stat facts_{};
  bool is_known_;
};

}  // namespace sonde
