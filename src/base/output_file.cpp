// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.h"

namespace sonde {

namespace {

int open_for_writing(const std::string& path, int flags) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  OutputFile file;
  file.path_ = path;
  const Destination where = destination_of(path);
  struct stat there{};
  if (::stat(path.c_str(), &there) == 0 && S_ISDIR(there.st_mode)) {
    return Failure(ErrorCode::Invalid, path + ": cannot write: it is a folder");
  }
  if (!where.is_file) {
    file.fd_ = open_for_writing(path, O_APPEND);
  } else {
    // Without a name until it is complete: a killed process leaves nothing behind.
    file.fd_ = open_for_writing(folder_of(where.path), O_TMPFILE);
    file.unnamed_ = file.fd_ >= 0;
    if (!file.unnamed_ && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
      SONDE_TRY(file.temporary_, temporary_beside(path));
      file.fd_ = open_for_writing(file.temporary_, O_CREAT | O_TRUNC);
    }
  }
  if (file.fd_ < 0) {
    file.temporary_.clear();
    return io_failure(path, "cannot create", errno);
  }
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      unnamed_(other.unnamed_),
      fd_(std::exchange(other.fd_, -1)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(unnamed_, other.unnamed_);
  std::swap(fd_, other.fd_);
  return *this;
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<void> OutputFile::append(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return io_failure(path_, "cannot write", n < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> OutputFile::append(std::string_view text) {
  return append(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

// Some file systems say only on closing that there was no room.
Result<void> OutputFile::commit() {
  if (unnamed_) {
    SONDE_TRY(temporary_, temporary_beside(path_));  // link() does not replace, rename() does
    const std::string open_file = "/proc/self/fd/" + std::to_string(fd_);
    if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) !=
        0) {
      const int error = errno;
      temporary_.clear();
      return io_failure(path_, "cannot create", error);
    }
  }
  if (::close(std::exchange(fd_, -1)) != 0) return io_failure(path_, "cannot write", errno);
  if (temporary_.empty()) return {};
  SONDE_TRY_VOID(replace_file(temporary_, path_));
  temporary_.clear();
  return {};
}

Result<void> write_file_whole(const std::string& path, std::span<const std::uint8_t> bytes) {
  SONDE_TRY(OutputFile file, OutputFile::create(path));
  SONDE_TRY_VOID(file.append(bytes));
  return file.commit();
}

Result<void> write_file_whole(const std::string& path, std::string_view text) {
  return write_file_whole(
      path, std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

}  // namespace sonde
