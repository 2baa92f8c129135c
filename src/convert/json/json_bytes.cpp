// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/json/json_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/big_vector.h"
#include "base/file.h"
#include "convert/json/json_text.h"

namespace sonde {

namespace {

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

// Closes a file when its reader is done with it.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// Larger files are mapped, because the system can reclaim mapped pages.
constexpr std::size_t kSmallFile = std::size_t{4} << 20;

// Returns how many bytes were read; fewer if the file was cut meanwhile.
Result<std::size_t> read_up_to(int fd, const std::string& path, char* to, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count = ::read(fd, to + done, bytes - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_failure(path, "cannot read", errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace

Result<PaddedBytes> PaddedBytes::with_capacity(std::size_t capacity) {
  PaddedBytes bytes;
  const std::size_t mapped = whole_pages(capacity + kJsonPadding);
  void* data = mapped < capacity ? MAP_FAILED
                                 : ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return Failure(ErrorCode::Io, "no memory for " + std::to_string(capacity) + " bytes");
  }
  ask_for_huge_pages(data, mapped);
  bytes.data_ = static_cast<char*>(data);
  bytes.mapped_ = mapped;
  return bytes;
}

Result<PaddedBytes> PaddedBytes::copy_of(std::string_view text) {
  SONDE_TRY(PaddedBytes bytes, with_capacity(text.size()));
  if (!text.empty()) std::memcpy(bytes.data_, text.data(), text.size());
  bytes.size_ = text.size();
  return bytes;
}

// The file is mapped over the beginning of zeroed memory, so that zeros follow even if its size is
// a multiple of the page size.
Result<PaddedBytes> PaddedBytes::map_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) return io_failure(path, "cannot open", errno);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return io_failure(path, "cannot examine", errno);
  if (!S_ISREG(info.st_mode)) {
    return Failure(ErrorCode::Invalid, path + (S_ISDIR(info.st_mode) ? ": is a folder, not a trace"
                                                                     : ": is not a regular file"));
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  SONDE_TRY(PaddedBytes bytes, with_capacity(size));
  if (size <= kSmallFile) {
    SONDE_TRY(bytes.size_, read_up_to(file.get(), path, bytes.data_, size));
    return bytes;
  }
  if (::mmap(bytes.data_, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file.get(), 0) == MAP_FAILED) {
    return io_failure(path, "cannot map", errno);
  }
  ::madvise(bytes.data_, size, MADV_SEQUENTIAL);
  bytes.size_ = size;
  return bytes;
}

void PaddedBytes::forget(char* pages, std::size_t bytes) {
  ::madvise(pages, bytes, MADV_DONTNEED);
}

bool PaddedBytes::has_room(std::size_t bytes) const {
  return mapped_ - size_ - kJsonPadding >= bytes;
}

Result<std::span<std::uint8_t>> PaddedBytes::room(std::size_t bytes) {
  if (!has_room(bytes)) {
    const std::size_t wanted = whole_pages(std::max(2 * mapped_, size_ + bytes + kJsonPadding));
    void* data = ::mremap(data_, mapped_, wanted, MREMAP_MAYMOVE);
    if (data == MAP_FAILED) {
      return Failure(ErrorCode::Io, "no memory for " + std::to_string(wanted) + " bytes");
    }
    data_ = static_cast<char*>(data);
    mapped_ = wanted;
  }
  return std::span(reinterpret_cast<std::uint8_t*>(data_) + size_, mapped_ - size_ - kJsonPadding);
}

PaddedBytes::PaddedBytes(PaddedBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

PaddedBytes& PaddedBytes::operator=(PaddedBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

PaddedBytes::~PaddedBytes() {
  if (data_ != nullptr) ::munmap(data_, mapped_);
}

}  // namespace sonde
