// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/live_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/new_file.h"

namespace sonde {
namespace {

// A number that differs between boots of a system and between systems that share a disk; 0 if there
// is none.
std::uint64_t boot_number() {
  const int fd = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[64];
  const ssize_t size = ::read(fd, text, sizeof(text));
  ::close(fd);
  std::uint64_t number = 0xcbf29ce484222325;  // FNV-1a
  for (ssize_t i = 0; i < size; ++i)
    number = (number ^ static_cast<std::uint8_t>(text[i])) * 0x100000001b3;
  return size > 0 ? number : 0;
}

// We have no live file yet, so a process with our id is an earlier one.
bool has_ended(const LiveFileHead& head) {
  if (head.boot != boot_number() || head.pid <= 0) return false;
  return head.pid == ::getpid() || (::kill(static_cast<pid_t>(head.pid), 0) != 0 && errno == ESRCH);
}

// Whether the file was left by a process that has ended. The lock alone is not enough, because some
// file systems have none. The process id alone is not enough either: it may belong to another PID
// namespace.
bool is_left_over(int fd) {
  struct stat facts = {};
  if (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid() ||
      facts.st_nlink != 1)
    return false;
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  LiveFileHead head;
  return ::pread(fd, &head, sizeof(head), 0) == static_cast<ssize_t>(sizeof(head)) &&
         head.magic == LiveFileHead::kMagic && has_ended(head);
}

}  // namespace

void remove_if_left_over(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  const bool is_removable = is_left_over(fd);
  KeptFile file(fd, path);
  if (is_removable) file.remove_name();
}

Result<NewLiveFile> create_live_file(const std::string& output) {
  std::error_code failed;
  // The program may change its working directory before the file is removed.
  const std::string base = std::filesystem::absolute(output, failed).string();
  std::string path = base + ".live";
  int fd = create_new(path);
  if (fd < 0 && errno == EEXIST) {
    remove_if_left_over(path);
    fd = create_new(path);
  }
  if (fd < 0 && errno == EEXIST) {
    path = base + "." + random_digits() + ".live";
    fd = create_new(path);
  }
  if (fd < 0) return io_failure(path, "cannot create", errno);
  NewLiveFile made{KeptFile(fd, path), path};
  made.file.lock();
  return made;
}

LiveFileHead live_file_head(std::uint64_t stream, std::uint32_t chunk_count) {
  LiveFileHead head;
  head.stream = stream;
  head.chunk_count = chunk_count;
  head.pid = ::getpid();
  head.boot = boot_number();
  return head;
}

}  // namespace sonde
