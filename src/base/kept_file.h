// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A file that stays open in a program that may close every descriptor, as daemons do, and may then
// reuse our number for another file. Ask for the descriptor at each use:
//
//   const int fd = kept.descriptor();   // this file's, opened again if necessary
//   if (fd < 0) return io_failure(path, "cannot write", errno);
//
// Its number is high, so the program gets the same numbers as without Sonde.

#include <sys/types.h>

#include <string>

namespace sonde {

// Moves a descriptor to a number that programs rarely close or rely on.
int out_of_the_way(int fd);

class KeptFile {
 public:
  KeptFile() = default;
  // Takes over `fd` and gives it another number. With an empty path it cannot be opened again.
  KeptFile(int fd, const std::string& path);
  KeptFile(KeptFile&& other) noexcept;
  KeptFile& operator=(KeptFile&& other) noexcept;
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;
  ~KeptFile() { close(); }

  // Returns -1 and sets errno if the file is gone. If it was closed, this waits a little: a program
  // that closes all descriptors is about to open some and relies on their numbers.
  int descriptor();
  // The last known number, for /proc/self/fd.
  int number() const { return fd_; }
  // Call it after the file was renamed.
  void set_path(const std::string& path);
  // Locks the file for as long as it is open, even if it must be opened again. Does not wait if
  // another process has the lock.
  void lock();
  // Also unlocks it, even if a child of fork() still has it open.
  void close();
  // Removes the file's name, unless it belongs to another file by now.
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
