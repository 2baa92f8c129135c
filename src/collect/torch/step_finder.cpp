// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/step_finder.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <ATen/record_function.h>

#include "collect/torch/optimizer_calls.h"
#include "sonde/source/op.h"
#include "sonde/source/python_stack.h"

namespace sonde::torch {
namespace {

// As trace/known_names.h has them, which is not there when this is built for another torch.
constexpr const char* kMarkedPrefix = "ProfilerStep#";
constexpr const char* kOptimizerPrefix = "Optimizer.step#";
constexpr const char* kBatchPrefix = "enumerate(DataLoader)#";
// After this many batches without an optimizer step, the program is not training.
constexpr int kBatchesWithoutOptimizer = 4;

bool begins_with(const char* text, const char* beginning) {
  return std::strncmp(text, beginning, std::strlen(beginning)) == 0;
}

class StepFinder {
 public:
  void range_begins(const char* name) {
    if (!begins_with(name, kBatchPrefix)) return;
    const std::lock_guard lock(mutex_);
    ++batches_;
    has_new_batch_ = true;
    if (rule_.empty() && batches_ >= kBatchesWithoutOptimizer) {
      choose(name);
      return sonde_steps_ended(rule_.c_str(), kBatchesWithoutOptimizer - 1);
    }
    if (is_rule(name)) sonde_steps_ended(rule_.c_str(), 1);
  }

  void range_ends(const char* name) {
    const bool is_marked = begins_with(name, kMarkedPrefix);
    if (!is_marked && !begins_with(name, kOptimizerPrefix)) return;
    const std::lock_guard lock(mutex_);
    if (is_marked) {
      if (rule_ != kMarkedPrefix) choose(kMarkedPrefix);
      sonde_steps_ended(kMarkedPrefix, 1);
      return;
    }
    if (rule_.empty()) choose(name);
    const bool ends_round = is_rule(name) && optimizer_calls_.end_step(sonde_python_call_place());
    // Several calls for one batch are of several optimizers.
    if (!ends_round || (batches_ > 0 && !has_new_batch_)) return;
    has_new_batch_ = false;
    sonde_steps_ended(rule_.c_str(), 1);
  }

 private:
  void choose(const char* name) {
    rule_ = name;
    thread_ = std::this_thread::get_id();
  }
  bool is_rule(const char* name) const {
    return rule_ == name && thread_ == std::this_thread::get_id();
  }

  std::mutex mutex_;
  std::string rule_;        // the name of the range that steps are known by
  std::thread::id thread_;  // where it was seen first
  OptimizerCalls optimizer_calls_;
  int batches_ = 0;
  bool has_new_batch_ = false;
};

// Leaked: ranges may end while the program's statics are destroyed.
StepFinder& step_finder() {
  static auto* const finder = new StepFinder;
  return *finder;
}

std::unique_ptr<at::ObserverContext> on_marked_begin(const at::RecordFunction& fn) {
  step_finder().range_begins(fn.name());
  return nullptr;
}

std::unique_ptr<at::ObserverContext> on_other_begin(const at::RecordFunction& /*fn*/) {
  return nullptr;
}

void on_marked_end(const at::RecordFunction& fn, at::ObserverContext* /*context*/) {
  step_finder().range_ends(fn.name());
}

// Torch calls in the order of registration. A step that ends with a range must end after it, and
// one that ends before a range must do so before it begins: else the two would overlap.
class StepCallbacks {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    if (is_on_) return;
    is_on_ = true;
    begin_ = at::addGlobalCallback(
        at::RecordFunctionCallback(&on_marked_begin).scopes({at::RecordScope::USER_SCOPE}));
    add_end();
  }
  void be_last() {
    const std::lock_guard lock(mutex_);
    if (!is_on_) return;
    at::removeCallback(end_);
    add_end();
  }
  void remove() {
    const std::lock_guard lock(mutex_);
    if (!is_on_) return;
    is_on_ = false;
    at::removeCallback(begin_);
    at::removeCallback(end_);
  }

 private:
  void add_end() {
    end_ = at::addGlobalCallback(at::RecordFunctionCallback(&on_other_begin, &on_marked_end)
                                     .scopes({at::RecordScope::USER_SCOPE}));
  }

  std::mutex mutex_;
  bool is_on_ = false;
  at::CallbackHandle begin_ = 0;
  at::CallbackHandle end_ = 0;
};

// Leaked, as the finder.
StepCallbacks& step_callbacks() {
  static auto* const callbacks = new StepCallbacks;
  return *callbacks;
}

}  // namespace

void find_steps() {
  if (sonde_wants_steps() != 0) step_callbacks().add();
}

void find_steps_after_others() {
  step_callbacks().be_last();
}

void end_finding_steps() {
  step_callbacks().remove();
}

}  // namespace sonde::torch
