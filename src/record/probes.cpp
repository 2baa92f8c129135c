// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "record/probes.h"

#if SONDE_HAS_SDT
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): a switch of sdt.h
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

extern "C" {
// slow_path.cpp makes them, as names of the upper half of the word.
extern volatile std::uint16_t sonde_scope_begin_semaphore __attribute__((visibility("hidden")));
extern volatile std::uint16_t sonde_scope_end_semaphore __attribute__((visibility("hidden")));
extern volatile std::uint16_t sonde_mark_semaphore __attribute__((visibility("hidden")));
}
#endif

namespace sonde::detail {

#if SONDE_HAS_SDT

namespace {

const Tool kTool = {[](const char* name) { STAP_PROBE1(sonde, scope_begin, name); },
                    [] { STAP_PROBE(sonde, scope_end); },
                    [](const char* name) { STAP_PROBE1(sonde, mark, name); }};

}  // namespace

const Tool* probe_tool() noexcept {
  return &kTool;
}

std::uint32_t attached_probes() noexcept {
  return __atomic_load_n(&sonde_scope_begin_semaphore, __ATOMIC_RELAXED);  // a tracer counts in it
}

void follow_probes() noexcept {
  const auto* const ours = reinterpret_cast<const char*>(&sonde_detail_recording) + 2;
  if (ours == reinterpret_cast<const volatile char*>(&sonde_scope_begin_semaphore)) return;
  std::uint32_t word = listening_word();
  for (;;) {
    const std::uint32_t wanted = (word & 0xffff) | (attached_probes() << kSemaphoreShift);
    if (wanted == word || __atomic_compare_exchange_n(&sonde_detail_recording, &word, wanted, false,
                                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
      return;
  }
}

#else

const Tool* probe_tool() noexcept {
  return nullptr;
}
std::uint32_t attached_probes() noexcept {
  return 0;
}
void follow_probes() noexcept {}

#endif

}  // namespace sonde::detail
