// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Who listens to scopes: sessions, and other tools, which see them as they happen.
//
//   static const Tool nvtx = {push, pop, mark};
//   set_tool(kNvtx, &nvtx);
//   set_listening(kNvtx, true);
//
// sonde_detail_recording holds them all, so that a scope without listeners reads only one word:
//
//    31                  16 15     3   2     1       0
//   +----------------------+--------+-----+------+---------+
//   | probes' semaphore    |        | ITT | NVTX | session |
//   +----------------------+--------+-----+------+---------+
//
// The kernel counts in the upper half who has attached to the probes (probes.h). Threads take the
// inlined path only while the word equals kSession. Otherwise their limits are 0 (thread_cursor.h),
// and each begin and end takes the slow path, which notifies the tools. So tools cost no
// instruction until one listens.

#include <cstddef>
#include <cstdint>

#include "sonde/detail/thread_cursor.h"
#include "sonde/sonde.h"

namespace sonde::detail {

// A set of the bits below.
using Listeners = std::uint32_t;
constexpr Listeners kSession = 1;
constexpr Listeners kNvtx = 2;
constexpr Listeners kItt = 4;
constexpr Listeners kProbes = 8;  // not a bit of the word: the upper half takes its place
constexpr Listeners kTools = kNvtx | kItt | kProbes;
constexpr std::size_t kToolCount = 3;

constexpr unsigned kSemaphoreShift = 16;

inline std::uint32_t listening_word() noexcept {
  return __atomic_load_n(&sonde_detail_recording, __ATOMIC_RELAXED);
}
inline bool session_records() noexcept {
  return (listening_word() & kSession) != 0;
}
inline Listeners listeners() noexcept {
  const std::uint32_t word = listening_word();
  return (word & (kSession | kNvtx | kItt)) | ((word >> kSemaphoreShift) != 0 ? kProbes : 0);
}

// Called on the thread where the event happens, and never recursively. A tool must stay valid for
// ever: a scope it saw begin may end much later.
struct Tool {
  void (*push)(const char* name);
  void (*pop)();
  void (*mark)(const char* name);
};
void set_tool(Listeners who, const Tool* tool) noexcept;

// Sessions and tools alike. Every thread notices at its next record.
void set_listening(Listeners who, bool on) noexcept;

// Which tools saw each open scope of a thread, innermost last. The end goes to the same tools.
class ToldScopes {
 public:
  bool empty() const noexcept { return depth_ == 0; }
  // Tools do not see deeper scopes.
  bool has_room() const noexcept { return depth_ < kDeepest; }
  void push(Listeners who) noexcept {
    if (has_room()) who_[depth_] = static_cast<std::uint8_t>(who);
    ++depth_;
  }
  Listeners pop() noexcept {
    --depth_;
    return has_room() ? who_[depth_] : kSession;
  }

 private:
  static constexpr std::uint32_t kDeepest = 252;
  std::uint32_t depth_ = 0;
  std::uint8_t who_[kDeepest] = {};
};

// Notifies each tool in `who`. For the slow path: the calling thread must be busy, and
// `this_thread` must be its own record. tell_push returns which tools were notified.
struct ThreadRecord;
Listeners tell_push(ThreadRecord& this_thread, Listeners who, const char* name) noexcept;
void tell_pop(ThreadRecord& this_thread, Listeners who) noexcept;

// For all other callers: a range that may end in any order and on any thread. The tools see it
// pushed and popped on the thread where it began. If it ends on another thread, it is popped when
// its own thread next notifies them. The upper bits of sonde_range::position hold which tools were
// notified.
constexpr unsigned kToldShift = 60;
constexpr std::uint64_t kToldPosition = std::uint64_t{1} << kToldShift;
sonde_range begin_told_range(Listeners who, const char* name, sonde_range recorded) noexcept;
void end_told_range(sonde_range range) noexcept;
void tell_mark(Listeners who, const char* name) noexcept;

}  // namespace sonde::detail
