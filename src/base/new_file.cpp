// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/new_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/signals.h"

namespace sonde {
namespace {

// A file of ours may take this fraction of the free space.
constexpr std::uint64_t kShareOfFree = 4;

int open_anew(const std::string& path, int flags, mode_t mode) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_RDWR | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// "Umask:\t0022", in octal. Calling umask() would change it for other threads meanwhile.
bool umask_told_by_system(mode_t& mask) {
  const int fd = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[512];
  const ssize_t size = ::read(fd, text, sizeof(text) - 1);
  ::close(fd);
  const std::string status(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t at = status.find("\nUmask:");
  if (at == std::string::npos) return false;
  mask = static_cast<mode_t>(std::strtoul(status.c_str() + at + 7, nullptr, 8));
  return true;
}

std::vector<std::string> temporary_folders() {
  return {temporary_folder(), "/tmp", "/var/tmp", "/dev/shm"};
}

// Blocks for what is written later, beyond the file's end. Where that is not supported, or limited
// by RLIMIT_FSIZE, nothing is kept.
bool keeps_room(int fd, std::size_t bytes) {
  const SizeSignalHeld held;
  if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0) return true;
  return errno != ENOSPC && errno != EDQUOT;
}

}  // namespace

int create_new(const std::string& path, mode_t mode) {
  return open_anew(path, O_CREAT | O_EXCL | O_NOFOLLOW, mode);
}

int create_unnamed(const std::string& folder, mode_t mode) {
  return open_anew(folder, O_TMPFILE, mode);
}

mode_t finished_mode() {
  mode_t mask = 0;
  if (!umask_told_by_system(mask)) {
    mask = ::umask(077);
    ::umask(mask);
  }
  return 0666 & ~mask;
}

std::string random_digits() {
  std::uint64_t bits = 0;
  // Waits at most until the system has started. A name that can be guessed would be worse.
  while (::getrandom(&bits, sizeof(bits), 0) != static_cast<ssize_t>(sizeof(bits)) &&
         errno == EINTR) {
  }
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (char& digit : text) {
    digit = kDigits[bits & 0xf];
    bits >>= 4;
  }
  return text;
}

std::string temporary_folder() {
  const char* const named = std::getenv("TMPDIR");
  if (named == nullptr || *named == '\0') return "/tmp";
  std::error_code failed;
  const std::string folder = std::filesystem::absolute(named, failed).string();
  return failed ? named : folder;
}

Result<TemporaryFile> TemporaryFile::create_in(const std::string& folder, const std::string& prefix,
                                               const std::string& text,
                                               std::size_t reserved_bytes) {
  std::string path = folder + "/" + prefix + "-" + random_digits();
  const int fd = create_new(path);
  if (fd < 0) return io_failure(path, "cannot create", errno);
  TemporaryFile file(std::move(path));
  bool whole = reserved_bytes == 0 || keeps_room(fd, reserved_bytes);
  whole = whole && (text.empty() ||
                    write_some(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  const int reason = errno;
  ::close(fd);
  if (!whole) return io_failure(file.path_, "cannot write", reason);
  return file;
}

Result<TemporaryFile> TemporaryFile::create_in_one_of(const std::vector<std::string>& folders,
                                                      const std::string& prefix,
                                                      const std::string& text,
                                                      std::size_t reserved_bytes) {
  Result<TemporaryFile> made = create_in(folders.front(), prefix, text, reserved_bytes);
  for (std::size_t i = 1; !made && i < folders.size(); ++i) {
    Result<TemporaryFile> next = create_in(folders[i], prefix, text, reserved_bytes);
    if (next) return next;  // else the first says why
  }
  return made;
}

Result<TemporaryFile> TemporaryFile::create(const std::string& prefix, const std::string& text) {
  return create_in_one_of(temporary_folders(), prefix, text, 0);
}

Result<TemporaryFile> TemporaryFile::create_to_share(const std::string& prefix,
                                                     std::size_t reserved_bytes,
                                                     const std::string& last_folder) {
  std::vector<std::string> folders = temporary_folders();
  folders.push_back(last_folder);
  return create_in_one_of(folders, prefix, "", reserved_bytes);
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

ssize_t write_some(int fd, const void* bytes, std::size_t count) {
  const SizeSignalHeld held;
  return ::write(fd, bytes, count);
}

ssize_t write_some_at(int fd, const void* bytes, std::size_t count, off_t offset) {
  const SizeSignalHeld held;
  return ::pwrite(fd, bytes, count, offset);
}

int reserve_blocks(int fd, off_t bytes) {
  const SizeSignalHeld held;
  int result = -1;
  do {
    result = ::fallocate(fd, 0, 0, bytes);
  } while (result != 0 && errno == EINTR);
  return result;
}

std::uint64_t file_size_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::uint64_t>::max();
  return limit.rlim_cur;
}

std::uint64_t room_beside(const std::string& path, std::uint64_t own_bytes) {
  std::uint64_t room = file_size_limit();
  struct statvfs disk = {};
  if (::statvfs(folder_of(path).c_str(), &disk) == 0)
    room =
        std::min<std::uint64_t>(room, (disk.f_bavail * disk.f_frsize + own_bytes) / kShareOfFree);
  return room;
}

}  // namespace sonde
