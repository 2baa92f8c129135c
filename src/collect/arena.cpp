// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/arena.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/file.h"
#include "base/new_file.h"
#include "base/text.h"
#include "collect/live_file.h"
#include "sonde/detail/words.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // NOLINT(readability-identifier-naming): the kernel's name
#endif

namespace sonde {

using detail::kChunkBytes;

namespace {

std::size_t range_bytes(std::uint32_t chunks) {
  return (std::size_t{chunks} + 1) * kChunkBytes;
}

// With fewer chunks, events would be lost before they are moved to the file. Use plain memory then.
constexpr std::uint32_t kFewestChunks = (std::uint32_t{32} << 20) / kChunkBytes;

// How many of `wanted` chunks a live file beside `output` has room for.
std::uint32_t fitting_chunks(const std::string& output, std::uint32_t wanted) {
  const std::uint64_t room = room_beside(output) / kChunkBytes;
  return room == 0 ? 0 : static_cast<std::uint32_t>(std::min<std::uint64_t>(room - 1, wanted));
}

// At first, where the disk has plenty of room. It lasts until more are reserved, even if 16 threads
// record at full speed.
constexpr std::uint32_t kFirstChunks = 2 * kFewestChunks;
// At once, in a file system that keeps its files in memory: there, to reserve is to take memory and
// fill it with zeros.
constexpr std::uint32_t kMemoryStep = (std::uint32_t{8} << 20) / kChunkBytes;

bool is_kept_in_memory(int fd) {
  struct statfs facts = {};
  if (::fstatfs(fd, &facts) != 0) return false;
  return facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC;
}

std::uint32_t plenty_of(std::uint64_t room, std::uint32_t most) {
  constexpr std::uint64_t kPlenty = 8;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(room / kPlenty / kChunkBytes, most));
}

std::uint32_t in_steps(std::uint32_t chunks, std::uint32_t step, std::uint32_t most) {
  const std::uint64_t steps = (std::uint64_t{chunks} + step - 1) / step;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(steps * step, most));
}

std::string why_so_few(const std::string& output) {
  const std::uint64_t limit = file_size_limit();
  const std::uint64_t room = room_beside(output);
  return limit <= room ? "files may have at most " + bytes_text(limit) + " here (ulimit -f)"
                       : "the disk can spare " + bytes_text(room);
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

LiveLedger& Arena::ledger() const {
  return *reinterpret_cast<LiveLedger*>(base_ + kLiveLedgerOffset);
}

void Arena::open(const std::string& output, std::uint32_t chunk_count, std::uint64_t stream,
                 std::string& why) {
  chunk_count_ = chunk_count;
  if (output.empty()) return map_plain();
  const std::uint32_t fitting = fitting_chunks(output, chunk_count);
  if (fitting < std::min(chunk_count, kFewestChunks)) {
    why = output + ": the buffers have no room beside it: " + why_so_few(output);
    return map_plain();
  }
  if (fitting < chunk_count) why = why_so_few(output);
  chunk_count_ = fitting;
  if (Result<void> mapped = map_file(output, stream); !mapped) {
    why = mapped.error().message;
    chunk_count_ = chunk_count;
    map_plain();
  }
}

bool Arena::reserve(std::uint32_t chunks) {
  chunks = std::min(chunks, chunk_count_);
  if (chunks <= reserved_chunks_) return true;
  const int fd = file_.descriptor();
  // Blocks that the file already has no longer count as free space.
  const std::uint64_t room = room_beside(live_path_, range_bytes(reserved_chunks_));
  // All there are, where the disk has plenty of room, so that no thread ever waits for more.
  const std::uint32_t wanted = in_memory_ ? in_steps(chunks, kMemoryStep, chunk_count_)
                                          : std::max(in_steps(chunks, kFewestChunks, chunk_count_),
                                                     plenty_of(room, chunk_count_));
  return fd >= 0 && range_bytes(wanted) <= room && extend(fd, wanted);
}

std::uint32_t Arena::ahead(std::uint32_t ready) const {
  constexpr std::uint32_t kTimesReady = 8;  // the drainer may have to wait for a processor
  if (!in_memory_) return std::max(kFewestChunks, ready);
  return std::clamp(kTimesReady * ready, kMemoryStep, std::max(reserved_chunks_, kFewestChunks));
}

std::uint32_t Arena::plenty() const {
  if (in_memory_ || !file_backed()) return 0;
  return plenty_of(room_beside(live_path_, range_bytes(reserved_chunks_)), chunk_count_);
}

bool Arena::extend(int fd, std::uint32_t chunks) {
  const std::size_t bytes = range_bytes(chunks);
  // Not posix_fallocate, which writes zeros where the file system cannot reserve.
  if (reserve_blocks(fd, static_cast<off_t>(bytes)) != 0) return false;
  const std::size_t mapped = reserved_chunks_ == 0 ? 0 : range_bytes(reserved_chunks_);
  // No more than is reserved: a thread may still hold a chunk of an earlier stream further up.
  if (::mmap(base_ + mapped, bytes - mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
             static_cast<off_t>(mapped)) == MAP_FAILED)
    return false;
  // Otherwise the first touch of a page fills megabytes around it with zeros.
  ::madvise(base_ + mapped, bytes - mapped, MADV_RANDOM);
  reserved_chunks_ = chunks;
  return true;
}

Result<void> Arena::map_file(const std::string& output, std::uint64_t stream) {
  SONDE_TRY(NewLiveFile made, create_live_file(output));
  if (Result<void> mapped = fill_and_map(made.file, made.path, stream); !mapped) {
    made.file.remove_name();
    return mapped;
  }
  file_ = std::move(made.file);
  live_path_ = made.path;
  return {};
}

Result<void> Arena::fill_and_map(KeptFile& file, const std::string& path, std::uint64_t stream) {
  const int fd = file.descriptor();
  in_memory_ = is_kept_in_memory(fd);
  std::uint32_t first = kMemoryStep;
  if (!in_memory_)
    first = std::clamp(plenty_of(room_beside(path), chunk_count_), kFewestChunks, kFirstChunks);
  first = std::min(first, chunk_count_);
  reserved_chunks_ = 0;
  // Done first: if the process is killed after this, the file can be recognised as left over.
  const LiveFileHead head = live_file_head(stream, chunk_count_);
  if (write_some_at(fd, &head, sizeof(head), 0) != static_cast<ssize_t>(sizeof(head)))
    return io_failure(path, "cannot write", errno);
  if (!extend(fd, first))
    return io_failure(path, "cannot reserve " + bytes_text(range_bytes(first)), errno);
  return {};
}

void Arena::map_plain() {
  reserved_chunks_ = chunk_count_;
  // Mapping over addresses that we own fails only when the kernel is out of memory.
  void* mapped = ::mmap(base_, range_bytes(max_chunks_), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (mapped == MAP_FAILED) std::abort();
}

void Arena::prepare(std::uint32_t first, std::uint32_t last) {
  if (last <= first) return;
  char* start = chunks() + std::size_t{first} * kChunkBytes;
  const std::size_t bytes = std::size_t{last - first} * kChunkBytes;
  if (const int fd = file_.descriptor(); fd >= 0) {
    // Several times faster than asking the file system for a block page by page.
    static constexpr char kZeros[std::size_t{8} * kChunkBytes] = {};
    const off_t offset = start - base_;
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t step = std::min(sizeof(kZeros), bytes - done);
      const ssize_t n = write_some_at(fd, kZeros, step, offset + static_cast<off_t>(done));
      if (n <= 0) break;  // pages are allocated when touched
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
  if (!live_path_.empty()) file_.remove_name();
  live_path_.clear();
  file_.close();
}

}  // namespace sonde
