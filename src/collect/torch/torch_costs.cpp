// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/torch_costs.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/add.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Type.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "collect/torch/memory_hooks.h"
#include "collect/torch/recording_cost.h"
#include "sonde/source/sandbox.h"

namespace sonde::torch {
namespace {

TorchCosts costs;

// What seems to take no time was not measured.
void keep(std::atomic<std::uint64_t>& cost, double ns) {
  if (ns > 0) cost.store(static_cast<std::uint64_t>(1000 * ns), std::memory_order_relaxed);
}
double cost_ns(const std::atomic<std::uint64_t>& cost) {
  return static_cast<double>(cost.load(std::memory_order_relaxed)) / 1000;
}

constexpr int kBatches = 25;

template <typename Body>
double batch_ns(int times, const Body& body) {
  const std::int64_t before_ns = cost_clock_ns();
  for (int i = 0; i < times; ++i) {
    body();
    __asm__ volatile("" ::: "memory");
  }
  return static_cast<double>(cost_clock_ns() - before_ns) / times;
}

// The quickest of a few batches: others take the processor, or a part of it, at any time.
template <typename Body>
double ns_each(const Body& body) {
  double least = batch_ns(32, body);
  for (int i = 1; i < kBatches; ++i) least = std::min(least, batch_ns(32, body));
  return least;
}

// What callbacks add to the operators that `body` calls. `before` runs ahead of each batch.
template <typename Body>
double added_ns(int times, const Body& body, void (*before)() = [] {}) {
  const auto with_callbacks = [&](bool on) {
    const at::RecordFunctionGuard guard(on);
    before();
    return batch_ns(times, body);
  };
  double without = with_callbacks(false);
  double with = with_callbacks(true);
  for (int i = 1; i < kBatches; ++i) {
    without = std::min(without, with_callbacks(false));
    with = std::min(with, with_callbacks(true));
  }
  return with - without;
}

bool are_alone() {
  const auto step = at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION);
  return step && step->callbacks_.size() == 1;
}

at::Tensor small_tensor() {
  const at::RecordFunctionGuard unseen(false);
  return at::zeros({4});
}

// What our callbacks take that record nothing, of which this is not to be a part.
double quiet_callbacks_ns() {
  const at::StepCallbacks step = at::getStepCallbacks(at::RecordScope::FUNCTION);
  if (step.callbacks_.empty()) return 0;
  const auto& callback = step.callbacks_.front();
  const at::RecordFunction nothing{at::StepCallbacks()};
  return ns_each([&] {
    const auto context = callback.start_(nothing);
    callback.end_(nothing, context.get());
  });
}

void measure_operators() {
  const at::Tensor tensor = small_tensor();
  keep(costs.tensor, ns_each([&] {
         const c10::IValue value(tensor);
         __asm__ volatile("" ::"r"(&value) : "memory");
       }));
  keep(costs.list, ns_each([] {
         const c10::IValue value(std::vector<std::int64_t>{2, 3});
         __asm__ volatile("" ::"r"(&value) : "memory");
       }));
  const bool has_inputs = at::getStepCallbacks(at::RecordScope::FUNCTION).needs_inputs_;
  // Some that compute, and some that only look.
  constexpr int kKinds = 4;
  constexpr int kTensorsGiven = 6;
  const double added = added_ns(8, [&] {
    at::add(tensor, tensor);
    at::neg(tensor);
    at::alias(tensor);
    tensor.is_same_size(tensor);
  });
  const double inputs = has_inputs ? kTensorsGiven * cost_ns(costs.tensor) : 0;
  keep(costs.callback, (added - inputs) / kKinds - quiet_callbacks_ns());
}

// What torch's allocator takes more than the memory it asks for.
void measure_allocations() {
  if (__atomic_load_n(&sonde_memory_report, __ATOMIC_RELAXED) == nullptr) return;
  constexpr std::size_t kBytes = 64;
  c10::Allocator& allocator = *c10::GetCPUAllocator();
  const double with_torch_ns = ns_each([&] { allocator.allocate(kBytes); });
  const double alone_ns = ns_each([] {
    void* block = nullptr;
    if (::posix_memalign(&block, kBytes, kBytes) == 0) ::free(block);
  });
  keep(costs.allocation, (with_torch_ns - alone_ns) / 2);
}

// Between two gradients a program computes: it takes the caches that making names needs.
void forget() {
  static std::array<std::uint64_t, (std::size_t{512} << 10) / 8> memory;
  for (std::size_t i = 0; i < memory.size(); i += 8) ++memory[i];
  __asm__ volatile("" ::"r"(memory.data()) : "memory");
}

// A few gradients. The last of them, the weight's, has its C++ type for a name.
void measure_gradients() {
  constexpr int kOperators = 3;
  const at::Tensor one = small_tensor();
  const at::Tensor weight = small_tensor().set_requires_grad(true);
  const auto forward = [&] {
    at::Tensor value = weight;
    for (int i = 0; i < kOperators; ++i) value = at::neg(value);
    return value;
  };
  const double forward_ns = added_ns(1, [&] { forward(); }, &forget);
  const double both_ns = added_ns(1, [&] { forward().backward(one); }, &forget);
  // Each gradient and the range around it, and an operator in each but the weight's.
  constexpr double kSeen = 3 * kOperators + 2;
  const double typed_ns = ns_each([] {
    const std::string name = c10::demangle("N5torch8autograd14AccumulateGradE");
    __asm__ volatile("" ::"r"(name.data()) : "memory");
  });
  const double names_ns = both_ns - forward_ns - kSeen * cost_ns(costs.callback) - 2 * typed_ns;
  keep(costs.typed_name, 2 * typed_ns);
  keep(costs.gradient, names_ns / (kOperators + 1));
}

// What the thread that runs now measures.
std::atomic<unsigned> wanted_now{0};

void measure_now() {
  if (!are_alone()) return;
  const unsigned wanted = wanted_now.load();
  if ((wanted & kOperatorCosts) != 0) measure_operators();
  if ((wanted & kAllocationCosts) != 0) measure_allocations();
  if ((wanted & kGradientCosts) != 0) measure_gradients();
}

class MeasuringThread {
 public:
  void begin(unsigned wanted, RunQuietly* run_quietly) {
    if ((wanted & ~begun_.load(std::memory_order_relaxed)) == 0) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || is_over_ || runs_) return;
    wanted_now.store(wanted & ~begun_.fetch_or(wanted));
    runs_ = start(run_quietly);
  }
  // Waits until it is done, or too long, and returns the lock that keeps it from beginning again.
  std::unique_lock<std::mutex> stopped() {
    std::unique_lock lock(mutex_);
    done_.wait_for(lock, std::chrono::milliseconds(500), [this] { return !runs_; });
    return lock;
  }
  void end() {
    const auto lock = stopped();
    is_over_ = true;
  }
  // Around fork(), so that the child inherits no lock of torch that this thread held.
  void before_fork() { stopped().release(); }
  void after_fork(bool in_child) {
    if (in_child) runs_ = false;
    mutex_.unlock();
  }

 private:
  bool start(RunQuietly* run_quietly);

  std::mutex mutex_;
  std::condition_variable done_;
  std::atomic<unsigned> begun_{0};
  bool runs_ = false;
  bool is_over_ = false;
};

// Leaked: its thread may outlive the program's statics.
MeasuringThread& measuring_thread() {
  static auto* const only = [] {
    auto* const made = new MeasuringThread;
    ::pthread_atfork([] { measuring_thread().before_fork(); },
                     [] { measuring_thread().after_fork(false); },
                     [] { measuring_thread().after_fork(true); });
    return made;
  }();
  return *only;
}

bool MeasuringThread::start(RunQuietly* run_quietly) {
  if (sonde_in_sandbox() != 0) return false;
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread([this, run_quietly] {
      ::pthread_setname_np(::pthread_self(), "sonde cost");
      try {
        run_quietly(&measure_now);
      } catch (...) {
        wanted_now.store(0);  // what was not measured is estimated
      }
      const std::lock_guard lock(mutex_);
      runs_ = false;
      done_.notify_all();
    }).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace

const TorchCosts& torch_costs() noexcept {
  return costs;
}

void measure_torch_costs(unsigned wanted, RunQuietly* run_quietly) {
  measuring_thread().begin(wanted, run_quietly);
}

void finish_measuring() {
  measuring_thread().stopped();
}

void end_measuring() {
  measuring_thread().end();
}

}  // namespace sonde::torch
