// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/new_file.h"

namespace sonde {
namespace {

int open_retrying(const char* path, int flags) {
  int fd = -1;
  do {
    fd = ::open(path, flags | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// An unnamed file in TMPDIR, or in memory if that folder's file system does not support it.
int open_unnamed() {
  const int fd = create_unnamed(temporary_folder());
  return fd >= 0 ? fd : memfd_create("sonde", MFD_CLOEXEC);
}

// Whether another user may have made the link to redirect what we write. In a folder where everyone
// may write, only links of this user and of the folder's owner are followed, as the kernel does.
bool is_planted(const std::filesystem::path& link, const std::filesystem::path& folder) {
  struct stat place{};
  struct stat facts{};
  if (::stat(folder.c_str(), &place) != 0 || ::lstat(link.c_str(), &facts) != 0) return false;
  const bool is_shared = (place.st_mode & S_ISVTX) != 0 && (place.st_mode & S_IWOTH) != 0;
  return is_shared && facts.st_uid != ::geteuid() && facts.st_uid != place.st_uid;
}

}  // namespace

Failure io_failure(const std::string& path, std::string_view doing, int errno_value) {
  char buffer[128];
  const char* reason = strerror_r(errno_value, buffer, sizeof(buffer));  // the GNU form
  ErrorCode code = ErrorCode::Io;
  if (errno_value == ENOENT || errno_value == ENOTDIR) code = ErrorCode::NotFound;
  return {code, path + ": " + std::string(doing) + ": " + reason};
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  const int fd = open_retrying(path.c_str(), O_RDONLY | O_NONBLOCK);  // a pipe may have no writer
  if (fd < 0) return io_failure(path, "cannot open", errno);
  struct stat info{};
  if (::fstat(fd, &info) != 0) {
    const int error = errno;
    ::close(fd);
    return io_failure(path, "cannot examine", error);
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return Failure(ErrorCode::Invalid, path + (S_ISDIR(info.st_mode) ? ": is a folder, not a trace"
                                                                     : ": is not a regular file"));
  }
  MappedFile file;
  file.path_ = path;
  file.size_ = static_cast<std::size_t>(info.st_size);
  if (file.size_ > 0) {
    void* data = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd, 0);
    const int error = errno;
    ::close(fd);
    if (data == MAP_FAILED) return io_failure(path, "cannot map", error);
    file.data_ = static_cast<const std::uint8_t*>(data);
  } else {
    ::close(fd);
  }
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

Result<AppendFile> AppendFile::create(const std::string& path) {
  AppendFile file;
  file.path_ = path;
  const int fd = path.empty() ? open_unnamed() : create_new(path);
  if (fd < 0) return io_failure(path.empty() ? "a temporary file" : path, "cannot create", errno);
  file.file_ = KeptFile(fd, path);
  return file;
}

Result<void> AppendFile::append(std::span<const std::uint8_t> bytes) {
  const int fd = file_.descriptor();
  if (fd < 0) return io_failure(path_, "cannot write", errno);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = write_some_at(fd, bytes.data() + done, bytes.size() - done,
                                    static_cast<off_t>(size_ + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : ENOSPC;
      if (::ftruncate(fd, static_cast<off_t>(size_)) != 0) {
        // Nothing more can be done. A reader recovers what is before a torn end.
      }
      return io_failure(path_, "cannot write", error);
    }
    done += static_cast<std::size_t>(n);
  }
  size_ += bytes.size();
  return {};
}

Result<void> AppendFile::cut(std::uint64_t size) {
  const int fd = file_.descriptor();
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(size)) != 0)
    return io_failure(path_, "cannot cut", errno);
  size_ = size;
  return {};
}

Result<void> AppendFile::publish(const std::string& path) {
  file_.lock();  // some file systems have no locks: then it does nothing
  const Destination where = destination_of(path);
  if (!where.is_file) return not_to_be_written(path, where);
  if (::fchmod(file_.number(), finished_mode()) != 0) {
    // Some file systems have no modes. Then nothing is changed.
  }
  if (::link(path_.c_str(), where.path.c_str()) == 0) {  // if two try at once, one succeeds
    ::unlink(path_.c_str());
    rename_to(path);
    return {};
  }
  const int there = open_retrying(where.path.c_str(), O_RDONLY);
  const bool in_use = there >= 0 && ::flock(there, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  Result<void> done =
      in_use ? Failure(ErrorCode::Invalid,
                       path + ": is being recorded to; give each recording its own name")
             : replace_file(path_, path);
  if (there >= 0) ::close(there);
  if (done) rename_to(path);
  return done;
}

void AppendFile::rename_to(const std::string& path) {
  path_ = path;
  file_.set_path(path);
}

void AppendFile::release() {
  if (!path_.empty()) file_.close();
}

std::string AppendFile::readable_path() const {
  return path_.empty() ? "/proc/self/fd/" + std::to_string(file_.number()) : path_;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Destination destination_of(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // the system's limit
  std::error_code failed;
  fs::path at = path;
  for (int links = 0; links < kMostLinks; ++links) {
    const fs::path folder = at.has_parent_path() ? at.parent_path() : fs::path(".");
    if (fs::canonical(folder, failed).string().rfind("/proc/", 0) == 0) return {path, false};
    if (!fs::is_symlink(fs::symlink_status(at, failed))) break;
    if (is_planted(at, folder)) return {path, false, true};
    const fs::path target = fs::read_symlink(at, failed);
    if (failed) break;
    at = folder / target;  // an absolute target replaces the folder
  }
  const fs::file_status there = fs::status(at, failed);
  return {at.string(), !fs::exists(there) || fs::is_regular_file(there)};
}

Failure not_to_be_written(const std::string& path, const Destination& where) {
  return {ErrorCode::Invalid,
          path + (where.is_planted
                      ? ": is another user's link in a folder where everyone may write; choose "
                        "another name"
                      : ": is not a regular file, so it cannot be replaced; choose another name")};
}

Result<std::string> temporary_beside(const std::string& path) {
  const Destination where = destination_of(path);
  if (!where.is_file) return not_to_be_written(path, where);
  return where.path + ".tmp" + random_digits();
}

Result<void> replace_file(const std::string& temporary, const std::string& path) {
  if (std::rename(temporary.c_str(), destination_of(path).path.c_str()) != 0)
    return io_failure(path, "cannot replace", errno);
  return {};
}

Result<int> create_in_place_of(const std::string& path) {
  const Destination where = destination_of(path);
  if (where.is_planted) return not_to_be_written(path, where);
  if (!where.is_file) {
    const int fd = open_retrying(path.c_str(), O_WRONLY | O_APPEND);
    return fd >= 0 ? Result<int>(fd) : io_failure(path, "cannot open", errno);
  }
  SONDE_TRY(const std::string temporary, temporary_beside(path));
  const int fd = create_new(temporary);
  if (fd < 0) return io_failure(path, "cannot create", errno);
  if (Result<void> replaced = replace_file(temporary, path); !replaced) {
    ::close(fd);
    ::unlink(temporary.c_str());
    return Failure(std::move(replaced).error());
  }
  return fd;
}

Error told_as(Error error, const std::string& temporary, const std::string& path) {
  const std::size_t at = error.message.find(temporary);
  if (at != std::string::npos) error.message.replace(at, temporary.size(), path);
  return error;
}

Result<void> write_replacing(const std::string& path,
                             const std::function<Result<void>(const std::string&)>& write) {
  SONDE_TRY(const std::string temporary, temporary_beside(path));
  Result<void> written = write(temporary);
  if (written) written = replace_file(temporary, path);
  if (written) return {};
  ::unlink(temporary.c_str());
  return Failure(told_as(std::move(written).error(), temporary, path));
}

Result<std::string> read_file(const std::string& path) {
  SONDE_TRY(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace sonde
