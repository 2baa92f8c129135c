// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Decides when the ring of a program is written to a file: `sonde run --dump-on`. It knows no clock
// and no file; times are passed in.
//
//   watch.step_ended(step, now_ns);
//   if (const auto dump = watch.due(now_ns)) ...   // write it, with dump->json as its reason

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sonde {

// 0 means that something is no reason. How the program ended is looked at by `sonde run` itself.
struct DumpRules {
  std::int64_t slow_step_percent = 0;  // of the usual time of a step
  std::int64_t hang_ns = 0;            // no step has ended for so long
  int signal = 0;
  std::int64_t most = 0;     // dumps that are written while the program runs
  std::int64_t ring_ns = 0;  // the least time between two dumps for slow steps
};

// The usual time of a step: the median of the last steps.
class UsualStep {
 public:
  void add(std::int64_t ns);
  // 0 as long as too few steps are known.
  std::int64_t ns() const;

 private:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kFewest = 8;
  std::array<std::int64_t, kMost> last_ = {};
  std::size_t count_ = 0;  // of all, also those that are forgotten
};

struct DueDump {
  std::string json;              // the reason, as metadata
  std::int64_t at_least_ns = 0;  // how much of the ring it must have
  std::int64_t number = 0;       // from 1
};

class DumpWatch {
 public:
  explicit DumpWatch(DumpRules rules = {}) : rules_(rules) {}

  // `step` is its number. True if a dump is due, so that whoever writes it can be woken.
  bool step_ended(std::int64_t step, std::int64_t now_ns);
  // Recording was stopped: when the step that runs began is not known.
  void stopped() { step_began_ns_ = 0; }
  void signal_came() { signal_came_ = true; }

  // What to write now, once.
  std::optional<DueDump> due(std::int64_t now_ns);
  // When to ask again although nothing happens, in ns; -1: need not.
  std::int64_t wait_ns(std::int64_t now_ns) const;
  // Whether a reason was left without a dump because there were enough.
  bool has_refused() const { return has_refused_; }

 private:
  bool hangs(std::int64_t now_ns) const;
  DueDump made(const std::string& reason, const std::string& facts, std::int64_t at_least_ns);

  DumpRules rules_;
  UsualStep usual_;
  std::int64_t step_began_ns_ = 0;  // 0: not known
  std::int64_t step_ = 0;           // that runs
  bool hang_told_ = false;          // of the step that runs
  struct Slow {
    std::int64_t step;
    std::int64_t took_ns;
    std::int64_t usual_ns;
  };
  std::optional<Slow> slow_;
  std::int64_t quiet_until_ns_ = 0;
  bool signal_came_ = false;
  std::int64_t made_ = 0;
  bool has_refused_ = false;
};

}  // namespace sonde
