// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A descriptor that stays open in a program which is not ours. Such a program may close every
// number there is, as daemons do, and have ours for a file of its own afterwards. Therefore it is
// asked for at each use:
//
//   const int fd = kept.descriptor();   // this file's, opened again if need be
//   if (fd < 0) return io_failure(path, "cannot write", errno);
//
// Its number is a high one: those that the program is given are the same as without us.

#include <sys/types.h>

#include <string>

namespace sonde {

// The same file under a number that programs seldom close or count on.
int out_of_the_way(int fd);

class KeptFile {
 public:
  KeptFile() = default;
  // Takes `fd`, which has another number then. An empty path: it cannot be opened again.
  KeptFile(int fd, const std::string& path);
  KeptFile(KeptFile&& other) noexcept;
  KeptFile& operator=(KeptFile&& other) noexcept;
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;
  ~KeptFile() { close(); }

  // -1, and errno, if the file is gone. If it was closed this waits a little: a program that closes
  // all is about to open some, and counts on their numbers.
  int descriptor();
  // Its number as it was last, for /proc/self/fd.
  int number() const { return fd_; }
  // The file goes by another name now.
  void set_path(const std::string& path);
  // A lock for as long as the file is open, also if it has to be opened again. Nobody waits:
  // whoever has it keeps it.
  void lock();
  void close();

 private:
  bool is_ours(int fd) const;

  std::string path_;  // from the root: the program may go to another folder
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool is_open_ = false;
  bool is_locked_ = false;
};

}  // namespace sonde
