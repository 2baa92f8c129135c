// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/new_file.h"

namespace sonde {

namespace {

int open_to_append(const std::string& path) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_APPEND);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  OutputFile file;
  file.path_ = path;
  const Destination where = destination_of(path);
  if (where.is_planted) return not_to_be_written(path, where);
  struct stat there{};
  if (::stat(path.c_str(), &there) == 0 && S_ISDIR(there.st_mode)) {
    return Failure(ErrorCode::Invalid, path + ": cannot write: it is a folder");
  }
  if (!where.is_file) {
    file.fd_ = open_to_append(path);
  } else {
    // Unnamed until it is complete, so that a killed process leaves nothing behind.
    file.fd_ = create_unnamed(folder_of(where.path));
    file.unnamed_ = file.fd_ >= 0;
    if (!file.unnamed_ && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
      SONDE_TRY(file.temporary_, temporary_beside(path));
      file.fd_ = create_new(file.temporary_);
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
    const ssize_t n = write_some(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return io_failure(path_, "cannot write", n < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> OutputFile::append(std::string_view text) {
  return append(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

// Some file systems report only at close that there was no room.
Result<void> OutputFile::commit() {
  if ((unnamed_ || !temporary_.empty()) && ::fchmod(fd_, finished_mode()) != 0) {
    // Some file systems have no modes. Then nothing is changed.
  }
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
