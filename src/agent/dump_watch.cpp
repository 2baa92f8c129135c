// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/dump_watch.h"

#include <algorithm>
#include <utility>

#include "base/format.h"

namespace sonde {

void UsualStep::add(std::int64_t ns) {
  last_[count_++ % kMost] = ns;
}

std::int64_t UsualStep::ns() const {
  if (count_ < kFewest) return 0;
  auto sorted = last_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(count_, kMost));
  const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

bool DumpWatch::step_ended(std::int64_t step, std::int64_t now_ns) {
  const std::int64_t took = step_began_ns_ == 0 ? 0 : now_ns - step_began_ns_;
  step_began_ns_ = now_ns;
  step_ = step + 1;
  hang_told_ = false;
  if (took <= 0 || rules_.slow_step_percent == 0) return false;
  const std::int64_t usual = usual_.ns();
  usual_.add(took);
  if (usual == 0 || took < usual / 100 * rules_.slow_step_percent) return false;
  if (now_ns < quiet_until_ns_) return false;
  slow_ = Slow{step, took, usual};
  return true;
}

bool DumpWatch::hangs(std::int64_t now_ns) const {
  return rules_.hang_ns > 0 && step_began_ns_ != 0 && !hang_told_ &&
         now_ns - step_began_ns_ >= rules_.hang_ns;
}

std::int64_t DumpWatch::wait_ns(std::int64_t now_ns) const {
  if (rules_.hang_ns == 0 || hang_told_) return -1;
  // Without a step nobody knows when the first one begins.
  const std::int64_t began = step_began_ns_ == 0 ? now_ns : step_began_ns_;
  return std::max<std::int64_t>(began + rules_.hang_ns - now_ns, 1);
}

DueDump DumpWatch::made(const std::string& reason, const std::string& facts,
                        std::int64_t at_least_ns) {
  ++made_;
  return {format_text(R"({{"reason": "{}", {}, "number": {}}})", reason, facts, made_), at_least_ns,
          made_};
}

std::optional<DueDump> DumpWatch::due(std::int64_t now_ns) {
  const bool by_hang = hangs(now_ns);
  if (!slow_ && !signal_came_ && !by_hang) return std::nullopt;
  const std::optional<Slow> slow = std::exchange(slow_, std::nullopt);
  const bool by_signal = std::exchange(signal_came_, false);
  hang_told_ = hang_told_ || by_hang;
  if (made_ >= rules_.most) {
    has_refused_ = true;
    return std::nullopt;
  }
  if (slow) {
    quiet_until_ns_ = now_ns + rules_.ring_ns;
    return made("slow-step",
                format_text(R"("step": {}, "took_ns": {}, "usual_ns": {})", slow->step,
                            slow->took_ns, slow->usual_ns),
                slow->took_ns + slow->took_ns / 10);
  }
  if (by_signal) return made("signal", format_text(R"("signal": {})", rules_.signal), 0);
  return made("hang", format_text(R"("step": {}, "since_ns": {})", step_, now_ns - step_began_ns_),
              0);
}

}  // namespace sonde
