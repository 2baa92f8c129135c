// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/recording_cost.h"

#include <ATen/core/ivalue.h>

#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "sonde/source/op.h"

namespace sonde::torch {
namespace {

// Sums over timed events, by the number of bits of their time, so that events during which the
// thread was interrupted can be left out.
class TimedEvents {
 public:
  void add(std::uint64_t ns) noexcept {
    const int bits = ns == 0 ? 0 : 64 - __builtin_clzll(ns);
    Bucket& bucket = buckets_[static_cast<std::size_t>(std::min(bits, kBuckets - 1))];
    bucket.count.fetch_add(1, std::memory_order_relaxed);
    bucket.ns.fetch_add(ns, std::memory_order_relaxed);
  }
  std::uint64_t count() const noexcept {
    std::uint64_t count = 0;
    for (const Bucket& bucket : buckets_) count += bucket.count.load(std::memory_order_relaxed);
    return count;
  }
  // Without what took 64 times as long as the median, or more.
  double mean_ns() const noexcept {
    const std::uint64_t all = count();
    std::uint64_t counted = 0;
    std::uint64_t ns = 0;
    int last = kBuckets - 1;
    for (int i = 0; i <= last; ++i) {
      const Bucket& bucket = buckets_[static_cast<std::size_t>(i)];
      const std::uint64_t before = counted;
      counted += bucket.count.load(std::memory_order_relaxed);
      ns += bucket.ns.load(std::memory_order_relaxed);
      if (2 * before < all && 2 * counted >= all) last = std::min(last, i + 5);
    }
    return counted == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(counted);
  }

 private:
  static constexpr int kBuckets = 40;
  struct Bucket {
    std::atomic<std::uint64_t> count{0};
    std::atomic<std::uint64_t> ns{0};
  };
  std::array<Bucket, kBuckets> buckets_;
};

std::array<TimedEvents, kCostPaths> timed_events;

const TimedEvents& events_on(CostPath path) {
  return timed_events[static_cast<std::size_t>(path)];
}

// Among the operators that were timed.
struct TimedOperators {
  std::atomic<std::uint64_t> gradients{0};
  std::atomic<std::uint64_t> typed_gradients{0};
  std::atomic<std::uint64_t> with_inputs{0};
  std::atomic<std::uint64_t> tensors{0};
  std::atomic<std::uint64_t> lists{0};
};
TimedOperators timed_operators;

double ratio(const std::atomic<std::uint64_t>& part, const std::atomic<std::uint64_t>& whole) {
  const std::uint64_t count = whole.load(std::memory_order_relaxed);
  if (count == 0) return 0;
  return static_cast<double>(part.load(std::memory_order_relaxed)) / static_cast<double>(count);
}

// With fewer of them the estimates are better.
constexpr std::uint64_t kLeastTimed = 8;
constexpr std::uint64_t kLeastToMeasure = 32;

double ns_of(const std::atomic<std::uint64_t>& picoseconds) {
  return static_cast<double>(picoseconds.load(std::memory_order_relaxed)) / 1000;
}

// Without the clock that timed it.
double own_ns(CostPath path) {
  static const double clock_ns = [] {
    std::int64_t least_ns = 1000;
    for (int i = 0; i < 32; ++i) {
      const std::int64_t before_ns = cost_clock_ns();
      least_ns = std::min(least_ns, cost_clock_ns() - before_ns);
    }
    return static_cast<double>(least_ns);
  }();
  return std::max(events_on(path).mean_ns() - clock_ns, 0.0);
}

// Nothing if a part of it is not known.
void tell_path(const char* path, std::uint64_t timed, const std::atomic<std::uint64_t>& torch_part,
               double ns) {
  if (timed < kLeastTimed || torch_part.load(std::memory_order_relaxed) == 0) return;
  sonde_path_cost(path, static_cast<std::uint64_t>(ns * 1000));
}

}  // namespace

std::int64_t cost_clock_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void add_cost(CostPath path, std::int64_t ns) noexcept {
  timed_events[static_cast<std::size_t>(path)].add(
      static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)));
}

void add_timed_operator(const at::RecordFunction& fn, bool has_inputs) noexcept {
  const auto add = [](std::atomic<std::uint64_t>& sum, std::uint64_t count) {
    sum.fetch_add(count, std::memory_order_relaxed);
  };
  if (fn.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    add(timed_operators.gradients, 1);
    if (std::strchr(fn.name(), ':') != nullptr) add(timed_operators.typed_gradients, 1);
  }
  if (!has_inputs || fn.inputs().empty()) return;
  std::uint64_t tensors = 0;
  std::uint64_t lists = 0;
  for (const c10::IValue& value : fn.inputs()) {
    tensors += value.isTensor() ? 1 : 0;
    lists += value.isList() ? 1 : 0;
  }
  add(timed_operators.with_inputs, 1);
  add(timed_operators.tensors, tensors);
  add(timed_operators.lists, lists);
}

void follow_costs(RunQuietly* run_quietly) {
  const std::uint64_t timed = events_on(CostPath::End).count();
  if (timed < kLeastToMeasure) return;
  const bool has_gradients =
      timed_operators.gradients.load(std::memory_order_relaxed) >= kLeastTimed;
  const bool has_allocations = events_on(CostPath::Allocation).count() >= kLeastTimed;
  measure_torch_costs(kOperatorCosts | (has_gradients ? kGradientCosts : 0U) |
                          (has_allocations ? kAllocationCosts : 0U),
                      run_quietly);
  if ((timed & (timed - 1)) == 0) tell_costs();
}

void tell_costs() {
  const TorchCosts& torch = torch_costs();
  tell_path("operators", events_on(CostPath::End).count(), torch.callback,
            ns_of(torch.callback) + own_ns(CostPath::Begin) + own_ns(CostPath::End));
  tell_path("gradients", timed_operators.gradients.load(std::memory_order_relaxed), torch.gradient,
            ns_of(torch.gradient) + ns_of(torch.typed_name) * ratio(timed_operators.typed_gradients,
                                                                    timed_operators.gradients));
  tell_path("inputs of operators", events_on(CostPath::Inputs).count(), torch.tensor,
            own_ns(CostPath::Inputs) +
                ns_of(torch.tensor) * ratio(timed_operators.tensors, timed_operators.with_inputs) +
                ns_of(torch.list) * ratio(timed_operators.lists, timed_operators.with_inputs));
  tell_path("stacks of operators", events_on(CostPath::Stack).count(), torch.callback,
            own_ns(CostPath::Stack));
  tell_path("allocations and frees", events_on(CostPath::Allocation).count(), torch.allocation,
            ns_of(torch.allocation) + own_ns(CostPath::Allocation));
}

}  // namespace sonde::torch
