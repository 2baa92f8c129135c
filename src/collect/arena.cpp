// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "sonde/detail/words.h"
#include "wire/live_file.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // NOLINT(readability-identifier-naming): the kernel's name
#endif

namespace sonde {

using detail::kChunkBytes;

namespace {

std::size_t range_bytes(std::uint32_t chunks) {
  return (std::size_t{chunks} + 1) * kChunkBytes;
}

}  // namespace

Arena::Arena(std::uint32_t max_chunks) : max_chunks_(max_chunks) {
  const std::size_t bytes = range_bytes(max_chunks) + kChunkBytes;
  void* range =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return;
  const auto address = reinterpret_cast<std::uintptr_t>(range);
  base_ = static_cast<char*>(range) + (kChunkBytes - address % kChunkBytes) % kChunkBytes;
}

char* Arena::chunks() const {
  return base_ + kChunkBytes;
}

void Arena::open(const std::string& live_path, std::uint32_t chunk_count, std::uint64_t stream,
                 std::string& why) {
  chunk_count_ = chunk_count;
  if (live_path.empty() || !map_file(live_path, chunk_count, stream, why)) map_plain();
}

bool Arena::map_file(const std::string& path, std::uint32_t chunk_count, std::uint64_t stream,
                     std::string& why) {
  const std::size_t bytes = range_bytes(chunk_count);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) {
    why = io_failure(path, "cannot create", errno).error().message;
    return false;
  }
  // Not posix_fallocate, which writes zeros where the file system cannot reserve.
  if (::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) != 0) {
    why = io_failure(path, "cannot reserve " + std::to_string(bytes >> 20) + " MiB", errno)
              .error()
              .message;
    ::close(fd);
    ::unlink(path.c_str());
    return false;
  }
  LiveFileHead head;
  head.stream = stream;
  head.chunk_count = chunk_count;
  head.pid = ::getpid();
  void* mapped = MAP_FAILED;
  if (::pwrite(fd, &head, sizeof(head), 0) == static_cast<ssize_t>(sizeof(head))) {
    mapped = ::mmap(base_, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  }
  if (mapped == MAP_FAILED) {
    why = io_failure(path, "cannot map", errno).error().message;
    ::close(fd);
    ::unlink(path.c_str());
    return false;
  }
  file_ = KeptFile(fd, path);
  live_path_ = path;
  return true;
}

void Arena::map_plain() {
  // Over addresses that are ours already this fails only when the kernel is out of memory.
  void* mapped = ::mmap(base_, range_bytes(max_chunks_), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (mapped == MAP_FAILED) std::abort();
}

void Arena::prepare(std::uint32_t first, std::uint32_t last) {
  if (last <= first) return;
  char* start = chunks() + std::size_t{first} * kChunkBytes;
  const std::size_t bytes = std::size_t{last - first} * kChunkBytes;
  if (const int fd = file_.descriptor(); fd >= 0) {
    // Several times faster than to let each page ask the file system for its block.
    static constexpr char kZeros[std::size_t{8} * kChunkBytes] = {};
    const off_t offset = start - base_;
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t step = std::min(sizeof(kZeros), bytes - done);
      const ssize_t n = ::pwrite(fd, kZeros, step, offset + static_cast<off_t>(done));
      if (n <= 0) break;  // the pages come when they are touched
      done += static_cast<std::size_t>(n);
    }
  }
  if (::madvise(start, bytes, MADV_POPULATE_WRITE) != 0) {
    // Before Linux 5.14: one page at a time.
    for (std::size_t at = 0; at < bytes; at += 4096) start[at] = 0;
  }
}

void Arena::close() {
  map_plain();
  if (!live_path_.empty()) ::unlink(live_path_.c_str());
  live_path_.clear();
  file_.close();
}

}  // namespace sonde
