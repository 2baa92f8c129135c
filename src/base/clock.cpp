// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/clock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace sonde {
namespace {

// True if the counter may not be read. The C library would read it too, so the kernel is asked.
std::atomic<bool> asks_the_kernel{false};

std::int64_t read_ns(clockid_t clock, bool from_kernel) {
  timespec now{};
  if (from_kernel) {
    ::syscall(SYS_clock_gettime, clock, &now);
  } else {
    ::clock_gettime(clock, &now);
  }
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Threads that may not read the counter although others do.
__thread bool gave_up_counter __attribute__((tls_model("initial-exec"))) = false;
std::atomic<bool> somebody_gave_up{false};

std::int64_t read_ns(clockid_t clock) {
  return read_ns(clock, asks_the_kernel.load(std::memory_order_relaxed) || gave_up_counter);
}

// Two moments, on both clocks, from which those threads count. Written one word at a time: a reader
// who meets a change gets a time that is off by less than the moments are apart.
struct Moment {
  std::atomic<std::uint64_t> ticks{0};
  std::atomic<std::int64_t> ns{0};
};
Moment first_moment;
Moment last_moment;

void remember(const std::uint64_t ticks, const std::int64_t ns) {
  Moment& moment = first_moment.ticks.load() == 0 ? first_moment : last_moment;
  moment.ns.store(ns);
  moment.ticks.store(ticks);
}

// What the counter would show.
std::uint64_t ticks_by_kernel() {
  const auto first_ns = first_moment.ns.load();
  const auto first_ticks = first_moment.ticks.load();
  const auto span_ns = static_cast<double>(last_moment.ns.load() - first_ns);
  const auto span_ticks = static_cast<double>(last_moment.ticks.load() - first_ticks);
  const auto since_ns = static_cast<double>(read_ns(CLOCK_MONOTONIC_RAW, true) - first_ns);
  return first_ticks +
         static_cast<std::uint64_t>(span_ns > 0 ? since_ns * (span_ticks / span_ns) : since_ns);
}

std::uint64_t read_counter() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;
#endif
}

#if defined(__x86_64__)
// A guest may not know that its counter is invariant, although its kernel relies on it.
bool kernel_keeps_time_by_tsc() {
  const int fd = ::open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                        O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char name[8] = {};
  const ssize_t n = ::read(fd, name, sizeof(name) - 1);
  ::close(fd);
  return n >= 3 && std::strncmp(name, "tsc", 3) == 0;
}

bool counter_is_steady() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0) return true;
  return kernel_keeps_time_by_tsc();
}
#elif defined(__aarch64__)
bool counter_is_steady() {
  return true;
}
#else
bool counter_is_steady() {
  return false;
}
#endif

// Whether reading the counter raises SIGSEGV on this thread.
bool counter_is_forbidden() {
#if defined(__x86_64__)
  int state = 0;
  return ::prctl(PR_GET_TSC, &state) == 0 && state == PR_TSC_SIGSEGV;
#else
  return false;
#endif
}

TickSource choose_source() {
  if (counter_is_forbidden()) {
    asks_the_kernel.store(true, std::memory_order_relaxed);
    return TickSource::Monotonic;
  }
  const char* forced = std::getenv("SONDE_CLOCK");
  if (forced != nullptr && std::strcmp(forced, "monotonic") == 0) return TickSource::Monotonic;
  return counter_is_steady() ? TickSource::Counter : TickSource::Monotonic;
}

// Not a function-local static with a guard: this is read in signal handlers.
std::atomic<int> chosen_source{-1};

}  // namespace

TickSource tick_source() {
  int source = chosen_source.load(std::memory_order_relaxed);
  if (source < 0) {
    source = static_cast<int>(choose_source());
    chosen_source.store(source, std::memory_order_relaxed);
  }
  return static_cast<TickSource>(source);
}

bool review_tick_source() {
  const TickSource before = tick_source();
  if (!counter_is_forbidden()) return false;
  asks_the_kernel.store(true, std::memory_order_relaxed);
  chosen_source.store(static_cast<int>(TickSource::Monotonic), std::memory_order_relaxed);
  return before != TickSource::Monotonic;
}

bool has_given_up_counter() {
  return gave_up_counter;
}

void give_up_counter() {
  constexpr std::int64_t kLongEnoughNs = 2'000'000;  // to know the counter's rate
  if (gave_up_counter || tick_source() != TickSource::Counter) return;
  do {
    take_anchor();
  } while (last_moment.ns.load() - first_moment.ns.load() < kLongEnoughNs);
  somebody_gave_up.store(true);
  gave_up_counter = true;
}

void follow_counter() {
  if (somebody_gave_up.load(std::memory_order_relaxed) && counter_is_forbidden())
    gave_up_counter = true;
}

void allow_counter() {
  gave_up_counter = false;
#if defined(__x86_64__)
  ::prctl(PR_SET_TSC, PR_TSC_ENABLE);
#endif
}

std::uint64_t read_ticks() {
  if (tick_source() != TickSource::Counter)
    return static_cast<std::uint64_t>(read_ns(CLOCK_MONOTONIC_RAW));
  return gave_up_counter ? ticks_by_kernel() : read_counter();
}

std::int64_t monotonic_ns() {
  return read_ns(CLOCK_MONOTONIC_RAW);
}
std::int64_t realtime_ns() {
  return read_ns(CLOCK_REALTIME, true);
}
std::int64_t thread_cpu_ns() {
  return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

ClockAnchor take_anchor() {
  constexpr int kTries = 16;
  ClockAnchor best;
  best.spread_ticks = ~std::uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    ClockAnchor anchor;
    const std::uint64_t before = read_ticks();
    anchor.monotonic_ns = read_ns(CLOCK_MONOTONIC_RAW);
    const std::uint64_t after = read_ticks();
    anchor.realtime_ns = read_ns(CLOCK_REALTIME);
    anchor.spread_ticks = after - before;
    anchor.ticks = before + anchor.spread_ticks / 2;
    if (anchor.spread_ticks < best.spread_ticks) best = anchor;
  }
  if (!gave_up_counter) remember(best.ticks, best.monotonic_ns);
  return best;
}

TickMap::TickMap(std::vector<ClockAnchor> anchors) {
  std::sort(anchors.begin(), anchors.end(),
            [](const ClockAnchor& a, const ClockAnchor& b) { return a.ticks < b.ticks; });
  // In damaged files anchors may run backwards, stand still or be years away. Those are ignored.
  constexpr std::int64_t kLongest = std::int64_t{1} << 61;
  const auto sensible = [](std::int64_t ns) { return ns > -kLongest && ns < kLongest; };
  std::vector<ClockAnchor> kept;
  for (const ClockAnchor& a : anchors) {
    if (!sensible(a.monotonic_ns) || !sensible(a.realtime_ns)) continue;
    if (kept.empty() ||
        (a.ticks > kept.back().ticks && a.monotonic_ns > kept.back().monotonic_ns)) {
      kept.push_back(a);
    }
  }
  if (kept.empty()) return;

  const ClockAnchor& first = kept.front();
  const ClockAnchor& last = kept.back();
  if (last.ticks > first.ticks) {
    rate_ = static_cast<double>(last.monotonic_ns - first.monotonic_ns) /
            static_cast<double>(last.ticks - first.ticks);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    Knot knot{kept[i].ticks, first.realtime_ns + (kept[i].monotonic_ns - first.monotonic_ns),
              rate_};
    if (i + 1 < kept.size()) {
      knot.rate = static_cast<double>(kept[i + 1].monotonic_ns - kept[i].monotonic_ns) /
                  static_cast<double>(kept[i + 1].ticks - kept[i].ticks);
    }
    knots_.push_back(knot);
    const auto half = static_cast<std::int64_t>(
        std::min(1e15, std::ceil(static_cast<double>(kept[i].spread_ticks) * rate_ / 2)));
    error_ns_ = std::max(error_ns_, half);
  }
  for (std::size_t i = 1; i + 1 < kept.size(); ++i) {
    const double slope = static_cast<double>(kept[i + 1].monotonic_ns - kept[i - 1].monotonic_ns) /
                         static_cast<double>(kept[i + 1].ticks - kept[i - 1].ticks);
    const double straight = slope * static_cast<double>(kept[i].ticks - kept[i - 1].ticks);
    const double off =
        std::abs(straight - static_cast<double>(kept[i].monotonic_ns - kept[i - 1].monotonic_ns));
    error_ns_ = std::max(error_ns_, static_cast<std::int64_t>(std::min(off, 1e15)));
  }
}

TickMap::Segment TickMap::segment_at(std::uint64_t ticks) const {
  constexpr std::uint64_t kForever = ~std::uint64_t{0};
  if (knots_.empty()) return {0, kForever, 0, 0, 1.0};
  const auto after =
      std::upper_bound(knots_.begin(), knots_.end(), ticks,
                       [](std::uint64_t t, const Knot& knot) { return t < knot.ticks; });
  const std::uint64_t last = after == knots_.end() ? kForever : after->ticks;
  if (after == knots_.begin()) return {0, last, knots_.front().ticks, knots_.front().ns, rate_};
  const Knot& knot = *(after - 1);
  return {knot.ticks, last, knot.ticks, knot.ns, knot.rate};
}

std::int64_t TickMap::to_ns(std::uint64_t ticks) const {
  return segment_at(ticks).to_ns(ticks);
}

RealtimeMap::RealtimeMap(const TickMap& clock, const std::vector<ClockAnchor>& anchors) {
  for (const ClockAnchor& anchor : anchors) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(clock.to_ns(anchor.ticks), anchor.realtime_ns, &difference))
      continue;
    knots_.push_back({anchor.realtime_ns, difference});
  }
  std::sort(knots_.begin(), knots_.end(),
            [](const Knot& a, const Knot& b) { return a.realtime_ns < b.realtime_ns; });
}

std::int64_t RealtimeMap::to_ns(std::int64_t realtime_ns) const {
  if (knots_.empty()) return realtime_ns;
  const auto after =
      std::upper_bound(knots_.begin(), knots_.end(), realtime_ns,
                       [](std::int64_t time, const Knot& knot) { return time < knot.realtime_ns; });
  std::int64_t difference =
      after == knots_.begin() ? after->difference_ns : (after - 1)->difference_ns;
  if (after != knots_.begin() && after != knots_.end()) {
    const Knot& from = *(after - 1);
    const double part =
        (static_cast<double>(realtime_ns) - static_cast<double>(from.realtime_ns)) /
        (static_cast<double>(after->realtime_ns) - static_cast<double>(from.realtime_ns));
    const double more = part * (static_cast<double>(after->difference_ns) -
                                static_cast<double>(from.difference_ns));
    if (more > -9e18 && more < 9e18) {
      const auto whole = static_cast<std::int64_t>(more);
      if (__builtin_add_overflow(difference, whole, &difference)) return realtime_ns;
    }
  }
  std::int64_t time = 0;
  return __builtin_add_overflow(realtime_ns, difference, &time) ? realtime_ns : time;
}

}  // namespace sonde
