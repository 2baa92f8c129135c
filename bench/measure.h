// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the benchmarks share: timing of small things, and the memory use of the process.

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::bench {

// Prints the usage and ends the program if an option was given: --help is the only one.
inline void explain_if_asked(int argc, char** argv, const char* usage) {
  if (argc < 2 || argv[1][0] != '-') return;
  const std::string_view option = argv[1];
  const bool is_asked = option == "--help" || option == "-h";
  std::fprintf(is_asked ? stdout : stderr, "usage: %s\n", usage);
  std::exit(is_asked ? 0 : 2);
}

inline double now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

inline double process_cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Work that the compiler cannot leave out. It has no "memory" clobber, which would make g++ keep a
// scope's state on the stack; no real work does that.
inline void barrier() {
  __asm__ volatile("");
}

struct Timing {
  double min = 0;
  double median = 0;
  double mean = 0;
};

// Nanoseconds per iteration, over `batches` batches of `iterations`.
template <typename Body>
Timing time_loop(int batches, int iterations, Body&& body) {
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(batches));
  double sum = 0;
  for (int b = 0; b < batches; ++b) {
    const double before = now_ns();
    for (int i = 0; i < iterations; ++i) body();
    times.push_back((now_ns() - before) / iterations);
    sum += times.back();
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2], sum / batches};
}

// Page faults of the calling thread so far that needed no disk.
inline long thread_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

// The value of a line such as "VmRSS:" in /proc/self/status, in bytes.
inline std::uint64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind(key + ":", 0) == 0) return std::stoull(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

// Resets VmHWM to the present value.
inline void reset_peak_rss() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace sonde::bench
