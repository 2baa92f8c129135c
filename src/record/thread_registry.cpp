// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "record/thread_registry.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <new>

namespace sonde::detail {
namespace {

// Writes the decimal digits of `value` to `out` and returns their end. snprintf may take locks.
char* put_decimal(char* out, std::uint64_t value) noexcept {
  char digits[20];
  int n = 0;
  do {
    digits[n++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (n > 0) *out++ = digits[--n];
  return out;
}

}  // namespace

std::uint64_t name_hash(std::string_view name) noexcept {
  __extension__ using Wide = unsigned __int128;
  const auto mixed = [](std::uint64_t hash, std::uint64_t word) {
    const auto wide = static_cast<Wide>(hash ^ word) * 0xd6e8feb86659fd93u;
    return static_cast<std::uint64_t>(wide) ^ static_cast<std::uint64_t>(wide >> 64);
  };
  const char* at = name.data();
  std::size_t left = name.size();
  const auto word = [&at](std::size_t offset) {
    std::uint64_t value = 0;
    std::memcpy(&value, at + offset, 8);
    return value;
  };
  const auto half = [&at](std::size_t offset) {
    std::uint32_t value = 0;
    std::memcpy(&value, at + offset, 4);
    return std::uint64_t{value};
  };
  // Two halves that the processor works out at the same time.
  std::uint64_t even = 0x9e3779b97f4a7c15u ^ (name.size() * 0xff51afd7ed558ccdu);
  std::uint64_t odd = 0x2545f4914f6cdd1du;
  for (; left > 16; at += 16, left -= 16) {
    even = mixed(even, word(0));
    odd = mixed(odd, word(8));
  }
  // The last words may overlap.
  if (left >= 8) {
    even = mixed(even, word(0));
    odd = mixed(odd, word(left - 8));
  } else if (left >= 4) {
    even = mixed(even, half(0) | (half(left - 4) << 32));
  } else if (left > 0) {
    const auto byte = [&at](std::size_t offset) {
      return std::uint64_t{static_cast<unsigned char>(at[offset])};
    };
    even = mixed(even, byte(0) | (byte(left / 2) << 8) | (byte(left - 1) << 16));
  }
  return mixed(even, (odd << 32) | (odd >> 32)) | 1;  // 0 marks an empty slot
}

namespace {

bool keep_name(ThreadRecord& record, const char (&name)[16]) noexcept {
  if (std::strcmp(name, record.name) == 0) return false;
  std::memcpy(record.name, name, sizeof(name));
  return true;
}

}  // namespace

// Opens no file, because a sandbox may end the program for that.
bool read_own_name(ThreadRecord& record) noexcept {
  char name[16] = {};
  return ::prctl(PR_GET_NAME, name) == 0 && keep_name(record, name);
}

bool read_thread_name(ThreadRecord& record) noexcept {
  char path[64] = "/proc/self/task/";
  char* end = put_decimal(path + std::strlen(path), record.kernel_id);
  std::memcpy(end, "/comm", 6);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char name[16] = {};
  // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): procfs does not block
  const ssize_t n = ::read(fd, name, sizeof(name) - 1);
  ::close(fd);
  if (n <= 0) return false;
  if (name[n - 1] == '\n') name[n - 1] = '\0';
  return keep_name(record, name);
}

ThreadRecord* ThreadRegistry::allocate() noexcept {
  if (free_ != nullptr) {
    ThreadRecord* const record = free_;
    free_ = record->next;
    return new (record) ThreadRecord;
  }
  constexpr std::size_t kSlabBytes = std::size_t{64} << 10;
  if (fresh_ == fresh_end_) {
    void* slab =
        ::mmap(nullptr, kSlabBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slab == MAP_FAILED) return nullptr;
    fresh_ = static_cast<ThreadRecord*>(slab);
    fresh_end_ = fresh_ + kSlabBytes / sizeof(ThreadRecord);
  }
  return new (fresh_++) ThreadRecord;
}

ThreadRecord* ThreadRegistry::enter(ThreadCursor* cursor, const ThreadPast& past) noexcept {
  ThreadRecord* record = nullptr;
  {
    const QuietLock guard(mutex_);
    record = allocate();
    if (record == nullptr) return nullptr;
    record->thread = past.thread != 0 ? past.thread : next_thread_++;
    record->next_sequence = past.next_sequence;
    record->next_async = past.next_async;
    record->kernel_id = static_cast<std::uint64_t>(::syscall(SYS_gettid));
    record->cursor = cursor;
    read_own_name(*record);
    record->next = first_;
    if (first_ != nullptr) first_->previous = record;
    first_ = record;
  }
  if (past.thread == 0) dictionary().add_thread(record->thread, record->kernel_id, record->name);
  return record;
}

void ThreadRegistry::leave(ThreadRecord* record) noexcept {
  const QuietLock guard(mutex_);
  if (record->previous != nullptr) record->previous->next = record->next;
  if (record->next != nullptr) record->next->previous = record->previous;
  if (first_ == record) first_ = record->next;
  record->next = free_;
  record->previous = nullptr;
  free_ = record;
}

void ThreadRegistry::forget_all() noexcept {
  // The records stay where they are. A child that forks often leaks them but never touches them.
  first_ = nullptr;
}

ThreadRegistry& thread_registry() noexcept {
  alignas(ThreadRegistry) static unsigned char storage[sizeof(ThreadRegistry)];
  static ThreadRegistry* const instance = new (storage) ThreadRegistry;
  return *instance;
}

}  // namespace sonde::detail
