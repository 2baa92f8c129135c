// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/kept_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace sonde {
namespace {

constexpr long kGraceNs = 50'000'000;

// A process that may have fewer descriptors keeps the last quarter of them for us.
int lowest_kept() {
  constexpr int kLowest = 200;
  constexpr int kMargin = 56;
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kLowest + kMargin)
    return kLowest;
  return static_cast<int>(limit.rlim_cur - limit.rlim_cur / 4);
}

int opened_again(const char* path) {
  const timespec grace = {0, kGraceNs};
  ::nanosleep(&grace, nullptr);
  int fd = -1;
  do {
    fd = ::open(path, O_RDWR | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  return fd < 0 ? fd : out_of_the_way(fd);
}

}  // namespace

int out_of_the_way(int fd) {
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, lowest_kept());
  if (moved < 0) return fd;  // the process may have only few descriptors
  ::close(fd);
  return moved;
}

KeptFile::KeptFile(int fd, const std::string& path) : fd_(out_of_the_way(fd)) {
  set_path(path);
  struct stat facts = {};
  if (::fstat(fd_, &facts) != 0) return;
  device_ = facts.st_dev;
  inode_ = facts.st_ino;
  is_open_ = true;
}

KeptFile::KeptFile(KeptFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(other.fd_),
      device_(other.device_),
      inode_(other.inode_),
      is_open_(std::exchange(other.is_open_, false)),
      is_locked_(other.is_locked_) {}

KeptFile& KeptFile::operator=(KeptFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  std::swap(is_open_, other.is_open_);
  std::swap(is_locked_, other.is_locked_);
  return *this;
}

void KeptFile::set_path(const std::string& path) {
  std::error_code failed;
  path_ = path.empty() ? path : std::filesystem::absolute(path, failed).string();
}

bool KeptFile::is_ours(int fd) const {
  struct stat facts = {};
  return ::fstat(fd, &facts) == 0 && facts.st_dev == device_ && facts.st_ino == inode_;
}

int KeptFile::descriptor() {
  if (!is_open_) {
    errno = EBADF;
    return -1;
  }
  if (is_ours(fd_)) return fd_;
  // Must not be closed: the number is unused or belongs to another file.
  errno = EBADF;
  const int fd = path_.empty() ? -1 : opened_again(path_.c_str());
  if (fd < 0) return -1;
  if (!is_ours(fd)) {
    ::close(fd);
    errno = ESTALE;
    return -1;
  }
  fd_ = fd;
  if (is_locked_) ::flock(fd_, LOCK_EX | LOCK_NB);
  return fd_;
}

void KeptFile::lock() {
  is_locked_ = true;
  if (const int fd = descriptor(); fd >= 0) ::flock(fd, LOCK_EX | LOCK_NB);
}

void KeptFile::close() {
  if (!std::exchange(is_open_, false) || !is_ours(fd_)) return;
  if (is_locked_) ::flock(fd_, LOCK_UN);
  ::close(fd_);
}

void KeptFile::remove_name() {
  struct stat facts = {};
  if (path_.empty() || ::lstat(path_.c_str(), &facts) != 0) return;
  if (facts.st_dev == device_ && facts.st_ino == inode_) ::unlink(path_.c_str());
}

}  // namespace sonde
