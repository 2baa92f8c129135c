// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A file that stays open in a program that may close every descriptor, as daemons do, and may then
// use our number for a file of its own. Therefore the descriptor is requested for each use:
//
//   const int fd = kept.descriptor();   // this file's, opened again if need be
//   if (fd < 0) return io_failure(path, "cannot write", errno);
//
// Its number is high, so the program gets the same numbers as without us.

#include <sys/types.h>

#include <string>

namespace sonde {

// The same file under a number that programs rarely close or rely on.
int out_of_the_way(int fd);

class KeptFile {
 public:
  KeptFile() = default;
  // Takes over `fd`, which then has another number. With an empty path it cannot be opened again.
  KeptFile(int fd, const std::string& path);
  KeptFile(KeptFile&& other) noexcept;
  KeptFile& operator=(KeptFile&& other) noexcept;
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;
  ~KeptFile() { close(); }

  // -1, and errno, if the file is gone. If it was closed, this waits a little: a program that
  // closes all descriptors is about to open some, and relies on their numbers.
  int descriptor();
  // Its last number, for /proc/self/fd.
  int number() const { return fd_; }
  // The file has been renamed.
  void set_path(const std::string& path);
  // Holds a lock while the file is open, even if it must be opened again. Does not wait if another
  // process has the lock.
  void lock();
  // Unlocks it too, whichever child of fork() has it open still.
  void close();
  // Takes away its name, if that still leads to this file and not to another's.
  void remove_name();

 private:
  bool is_ours(int fd) const;

  std::string path_;  // absolute, because the program may change its folder
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool is_open_ = false;
  bool is_locked_ = false;
};

}  // namespace sonde
