// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How much processor time the program's threads got, as counted by the system's scheduler.
//
//   SchedulingWatch watch;
//   watch.look(now);           // regularly: what an ended thread did since the last look is lost
//   watch.total().waited_ns    // when it ends

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

namespace sonde {

struct ProcessorShare {
  std::int64_t wall_ns = 0;
  std::int64_t ran_ns = 0;
  std::int64_t waited_ns = 0;   // ready to run, but without a core
  std::int64_t process_ns = 0;  // what the process ran, with threads that ended between two looks

  struct OfThread {
    std::int64_t ran_ns = 0;
    std::int64_t waited_ns = 0;
  };
  std::map<std::int64_t, OfThread> threads;  // by the kernel's number

  ProcessorShare minus(const ProcessorShare& before) const { return sum(before, -1); }
  ProcessorShare plus(const ProcessorShare& other) const { return sum(other, 1); }

 private:
  ProcessorShare sum(const ProcessorShare& other, std::int64_t sign) const;
};

class SchedulingWatch {
 public:
  // Reads the counters of all threads but ours. Does nothing in a sandbox, and where the
  // system does not count.
  void look(std::int64_t now_ns);
  bool has_looked() const { return has_looked_; }
  // The sums since the first look.
  const ProcessorShare& total() const { return total_; }
  // For the trace's metadata (kProcessorTimeKey). Of many threads, those that ran most.
  std::string json(const ProcessorShare& share) const;

 private:
  struct Counters {
    std::int64_t ran_ns = 0;
    std::int64_t waited_ns = 0;
  };
  static bool read_thread(const char* name, Counters& counters);

  std::unordered_map<std::int64_t, Counters> threads_;
  ProcessorShare total_;
  std::int64_t last_ns_ = 0;
  std::int64_t last_process_ns_ = 0;
  bool has_looked_ = false;
  pid_t process_ = 0;  // a child of fork() begins anew
};

}  // namespace sonde
