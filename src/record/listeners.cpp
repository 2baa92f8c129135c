// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "record/listeners.h"

#include <array>
#include <atomic>

#include "record/probes.h"
#include "record/recorder.h"
#include "record/thread_registry.h"
#include "record/write.h"

namespace sonde::detail {
namespace {

constexpr std::array<Listeners, kToolCount> kToolBits = {kNvtx, kItt, kProbes};

std::array<std::atomic<const Tool*>, kToolCount> tools;

std::size_t index_of(Listeners who) noexcept {
  std::size_t i = 0;
  while (i + 1 < kToolCount && kToolBits[i] != who) ++i;
  return i;
}

const Tool* tool_at(std::size_t i) noexcept {
  if (kToolBits[i] == kProbes) return probe_tool();
  return tools[i].load(std::memory_order_acquire);  // pairs with set_tool
}

// Calls visit(tool, its place in kToolBits) for each tool in `who` that is set, and returns those.
template <typename Visit>
Listeners for_each_tool(Listeners who, Visit&& visit) noexcept {
  Listeners found = 0;
  for (std::size_t i = 0; i < kToolCount; ++i) {
    const Tool* const tool = (who & kToolBits[i]) != 0 ? tool_at(i) : nullptr;
    if (tool == nullptr) continue;
    visit(*tool, i);
    found |= kToolBits[i];
  }
  return found;
}

void pop_what_ended_elsewhere(ThreadRecord& thread, const Tool& tool, std::size_t i) noexcept {
  if (thread.owed_pops[i].load(std::memory_order_relaxed) == 0) return;
  for (std::uint32_t left = thread.owed_pops[i].exchange(0, std::memory_order_relaxed); left > 0;
       --left)
    tool.pop();
}

void owe_pop(std::uint64_t thread, Listeners who) noexcept {
  thread_registry().for_each([&](ThreadRecord& record) {
    if (record.thread != thread) return;
    for_each_tool(who, [&](const Tool&, std::size_t i) {
      record.owed_pops[i].fetch_add(1, std::memory_order_relaxed);
    });
  });
}

}  // namespace

void set_tool(Listeners who, const Tool* tool) noexcept {
  tools[index_of(who)].store(tool, std::memory_order_release);  // pairs with tool_at
}

void set_listening(Listeners who, bool on) noexcept {
  const bool is_on = (listening_word() & who) != 0;
  if (is_on == on) return;
  if (on) {
    __atomic_fetch_or(&sonde_detail_recording, who, __ATOMIC_SEQ_CST);  // pairs with make_room
  } else {
    __atomic_fetch_and(&sonde_detail_recording, ~who, __ATOMIC_SEQ_CST);
  }
  // The first session need not force this: its threads have no chunk yet.
  if (listening_word() != kSession) send_threads_the_slow_way();
}

Listeners tell_push(ThreadRecord& this_thread, Listeners who, const char* name) noexcept {
  return for_each_tool(who, [&](const Tool& tool, std::size_t i) {
    pop_what_ended_elsewhere(this_thread, tool, i);
    tool.push(name);
  });
}

void tell_pop(ThreadRecord& this_thread, Listeners who) noexcept {
  for_each_tool(who, [&](const Tool& tool, std::size_t i) {
    pop_what_ended_elsewhere(this_thread, tool, i);
    tool.pop();
  });
}

sonde_range begin_told_range(Listeners who, const char* name, sonde_range recorded) noexcept {
  Listeners told = 0;
  std::uint64_t thread = recorded.thread;
  while_busy([&](ThreadRecord& record) {
    told = tell_push(record, who, name);
    thread = record.thread;
  });
  return {recorded.position | (std::uint64_t{told} << kToldShift), thread};
}

void end_told_range(sonde_range range) noexcept {
  const auto who = static_cast<Listeners>(range.position >> kToldShift);
  if (range.thread != thread_number()) return owe_pop(range.thread, who);
  while_busy([&](ThreadRecord& record) { tell_pop(record, who); });
}

void tell_mark(Listeners who, const char* name) noexcept {
  while_busy([&](ThreadRecord& /*record*/) {
    for_each_tool(who, [&](const Tool& tool, std::size_t) { tool.mark(name); });
  });
}

}  // namespace sonde::detail
