// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/profiler.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/json.h"
#include "profiler/cycle_recorder.h"
#include "profiler/hooks.h"
#include "profiler/message.h"
#include "profiler/transition.h"
#include "sonde/record.h"
#include "sonde/source/op.h"
#include "trace/known_names.h"

namespace sonde {
namespace {

Result<void> check_activities(std::vector<Activity> activities) {
  if (activities.empty()) return Failure(ErrorCode::Invalid, "No valid profiler activities found");
  std::sort(activities.begin(), activities.end());
  const auto twice = std::adjacent_find(activities.begin(), activities.end());
  if (twice == activities.end()) return {};
  return Failure(ErrorCode::Invalid, "activity " + std::to_string(static_cast<int>(*twice)) +
                                         " is specified more than once");
}

Result<void> check_options(const ProfilerOptions& options) {
  SONDE_TRY_VOID(check_activities(options.record.activities));
  if (options.acc_events && options.one_file_per_cycle) {
    return Failure(ErrorCode::Invalid,
                   "acc_events needs all cycles in one file: do not set one_file_per_cycle");
  }
  return options.schedule.status();
}

// The schedule is the user's code. Whatever it does becomes an action or an error.
Result<ProfilerAction> ask(const Schedule& schedule, std::int64_t step) {
  const std::string where = "schedule(" + std::to_string(step) + ")";
  ProfilerAction action = ProfilerAction::None;
  try {
    action = schedule(step);
  } catch (const std::exception& thrown) {
    return Failure(ErrorCode::Invalid, where + " threw: " + thrown.what());
  } catch (...) {
    return Failure(ErrorCode::Invalid, where + " threw");
  }
  if (action == ProfilerAction::DeviceStopped) {
    return Failure(ErrorCode::Invalid, where + " is DeviceStopped, which is set internally");
  }
  if (action > ProfilerAction::DeviceStopped) {
    return Failure(ErrorCode::Invalid,
                   where + " is not a ProfilerAction: " + std::to_string(static_cast<int>(action)));
  }
  return action;
}

Result<void> check_metadata(std::string_view key, std::string_view json) {
  Result<void> valid = validate_json(json);
  if (valid) return {};
  return Failure(ErrorCode::Invalid, "metadata " + std::string(key) + ": " + valid.error().message);
}

bool uses_device(const std::vector<Activity>& activities) {
  return std::any_of(activities.begin(), activities.end(),
                     [](Activity activity) { return activity != Activity::Cpu; });
}

}  // namespace

// Every member locks. The mutex is recursive because on_trace_ready calls back.
class Profiler::Impl {
 public:
  Impl(ProfilerOptions options, const ProfilerHooks& hooks)
      : options_(std::move(options)), hooks_(hooks), cycles_(options_, hooks.open_session) {
    if (Result<void> checked = check_options(options_); !checked) {
      fail(std::move(checked).error());
      return;
    }
    Result<ProfilerAction> first = ask(options_.schedule, 0);
    if (!first) {
      fail(std::move(first).error());
      return;
    }
    action_ = scheduled_ = *first;
  }

  // Not locked in a child of fork(): nothing may be done there, and the mutex may be held by a
  // thread that no longer exists.
  std::unique_lock<std::recursive_mutex> enter() const {
    if (getpid() != owner_) return std::unique_lock(mutex_, std::defer_lock);
    return std::unique_lock(mutex_);
  }

  void start(Profiler& self) {
    if (!may_move("start")) return;
    if (running_) return warn("start(): the profiler is already running; nothing is done");
    if (closed_)
      return fail({ErrorCode::Invalid, "start(): the profiler is closed and its file is finished"});
    running_ = true;
    run(transition(ProfilerAction::None, action_), self);
    if (options_.schedule.given()) sonde_steps_ended(std::string(kStepPrefix).c_str(), 0);
    open_step_scope();
  }

  void step(Profiler& self) {
    if (!may_move("step")) return;
    if (!running_) return warn("step(): the profiler is not running; nothing is done");
    step_scope_.reset();
    Result<ProfilerAction> scheduled = ask(options_.schedule, step_num_ + 1);
    if (!scheduled) return fail(std::move(scheduled).error());
    ++step_num_;
    const ProfilerAction previous = action_;
    const ProfilerAction previous_scheduled = std::exchange(scheduled_, *scheduled);
    action_ = settle_action(previous, previous_scheduled, scheduled_, device_stopped());
    if (action_ == ProfilerAction::DeviceStopped && previous != ProfilerAction::DeviceStopped) {
      warn("the device stopped recording before step " + std::to_string(step_num_) +
           "; the cycle ends here");
    }
    run(transition(previous, action_), self);
    if (options_.schedule.given()) sonde_steps_ended(std::string(kStepPrefix).c_str(), 1);
    open_step_scope();
  }

  void stop(Profiler& self) {
    if (!running_ || !may_move("stop")) return;
    step_scope_.reset();
    run(exit_transition(action_), self);
    action_ = scheduled_;
    running_ = false;
  }

  Result<void> close(Profiler& self) {
    if (in_callback_) {
      return Failure(ErrorCode::Invalid,
                     "close() cannot be called in on_trace_ready: other cycles may follow");
    }
    stop(self);
    closed_ = true;
    if (options_.execution_trace_observer != nullptr) options_.execution_trace_observer->cleanup();
    Result<void> closed = cycles_.close();
    const bool is_another =
        !closed && !status_ && status_.error().message != closed.error().message;
    if (is_another && !std::exchange(is_close_told_, true)) report_error(closed.error().message);
    check(closed);
    return closed;
  }

  // A phase that the user enters by calling it.
  void perform(Phase phase, const char* name, Profiler& self) {
    if (may_move(name)) run_phase(phase, self);
  }

  Result<void> status() const { return status_ ? cycles_.status() : status_; }
  std::int64_t step_num() const { return step_num_; }
  ProfilerAction action() const { return action_; }
  CycleRecorder& cycles() { return cycles_; }

 private:
  void run_phase(Phase phase, Profiler& self) {
    if (!status_) return;
    switch (phase) {
      case Phase::Prepare:
        if (closed_) return fail({ErrorCode::Invalid, "prepare_trace(): the profiler is closed"});
        return check(cycles_.prepare());
      case Phase::Start:
        if (!cycles_.prepared()) {
          return fail({ErrorCode::Invalid, "start_trace(): call prepare_trace() first"});
        }
        observe_execution(true);
        return check(cycles_.start(step_num_));
      case Phase::Stop:
        if (!cycles_.prepared()) {
          return fail({ErrorCode::Invalid, "stop_trace(): call prepare_trace() first"});
        }
        observe_execution(false);
        return cycles_.stop();
      case Phase::Ready:
        return call_trace_ready(self);
    }
  }

  void run(const Transition& transition, Profiler& self) {
    if (!transition.reachable) {
      return fail({ErrorCode::Internal, "internal error: unexpected transition"});
    }
    if (transition.warning != nullptr) warn(transition.warning);
    for (const Phase phase : transition) run_phase(phase, self);
  }

  void call_trace_ready(Profiler& self) {
    if (!options_.on_trace_ready) return;
    in_callback_ = true;
    try {
      options_.on_trace_ready(self);
    } catch (const std::exception& thrown) {
      warn(std::string("on_trace_ready threw: ") + thrown.what());
    } catch (...) {
      warn("on_trace_ready threw");
    }
    in_callback_ = false;
  }

  bool may_move(const char* name) {
    if (in_callback_) warn(std::string(name) + "() in on_trace_ready does nothing");
    if (!in_callback_) check(cycles_.status());
    return status_.has_value() && !in_callback_;
  }

  void open_step_scope() {
    if (!status_ || !options_.schedule.given()) return;
    step_scope_.emplace(std::string(kStepPrefix) + std::to_string(step_num_));
  }

  bool device_stopped() const {
    return hooks_.device_stopped && uses_device(options_.record.activities) &&
           hooks_.device_stopped();
  }

  void check(Result<void> result) {
    if (!result) fail(std::move(result).error());
  }

  // What was recorded so far stays in the file.
  void fail(Error error) {
    if (!status_) return;
    report_error(error.message);
    status_ = Failure(std::move(error));
    step_scope_.reset();
    observe_execution(false);
    if (cycles_.recording()) cycles_.stop();
    running_ = false;
  }

  void observe_execution(bool on) {
    ExecutionTraceObserver* const observer = options_.execution_trace_observer.get();
    if (observer == nullptr) return;
    on ? observer->start() : observer->stop();
  }

  // Sends each text only once: a wrong schedule would repeat it in every cycle.
  void warn(const std::string& text) {
    if (warned_.insert(text).second) report_warning(text);
  }

  const ProfilerOptions options_;
  const ProfilerHooks hooks_;
  const pid_t owner_ = getpid();
  mutable std::recursive_mutex mutex_;
  CycleRecorder cycles_;
  Result<void> status_;
  std::int64_t step_num_ = 0;
  ProfilerAction action_ = ProfilerAction::None;
  ProfilerAction scheduled_ = ProfilerAction::None;  // what the schedule said, before settle_action
  bool running_ = false;
  bool closed_ = false;
  bool is_close_told_ = false;
  bool in_callback_ = false;
  std::optional<record_function> step_scope_;
  std::set<std::string> warned_;
};

Profiler::Profiler() : Profiler(ProfilerOptions{}) {}
Profiler::Profiler(ProfilerOptions options)
    : Profiler(std::make_unique<Impl>(std::move(options), ProfilerHooks{})) {}
Profiler::Profiler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Profiler ProfilerMaker::make(ProfilerOptions options, const ProfilerHooks& hooks) {
  return Profiler(std::make_unique<Profiler::Impl>(std::move(options), hooks));
}

Profiler::~Profiler() {
  static_cast<void>(close());  // a failure goes to the message handler
}

void Profiler::start() {
  if (const auto lock = impl_->enter()) impl_->start(*this);
}

void Profiler::step() {
  if (const auto lock = impl_->enter()) impl_->step(*this);
}

void Profiler::stop() {
  if (const auto lock = impl_->enter()) impl_->stop(*this);
}

Result<void> Profiler::close() {
  const auto lock = impl_->enter();
  return lock ? impl_->close(*this) : Result<void>();
}

void Profiler::prepare_trace() {
  if (const auto lock = impl_->enter()) impl_->perform(Phase::Prepare, "prepare_trace", *this);
}

void Profiler::start_trace() {
  if (const auto lock = impl_->enter()) impl_->perform(Phase::Start, "start_trace", *this);
}

void Profiler::stop_trace() {
  if (const auto lock = impl_->enter()) impl_->perform(Phase::Stop, "stop_trace", *this);
}

void Profiler::toggle_collection_dynamic(bool enable, const std::vector<Activity>& activities) {
  if (const auto lock = impl_->enter()) impl_->cycles().toggle(enable, activities);
}

Result<void> Profiler::status() const {
  const auto lock = impl_->enter();
  return lock ? impl_->status() : Result<void>();
}

std::int64_t Profiler::step_num() const {
  const auto lock = impl_->enter();
  return lock ? impl_->step_num() : 0;
}

ProfilerAction Profiler::current_action() const {
  const auto lock = impl_->enter();
  return lock ? impl_->action() : ProfilerAction::None;
}

Result<Trace> Profiler::trace() const {
  const auto lock = impl_->enter();
  if (!lock)
    return Failure(ErrorCode::Unsupported, "trace: this profiler belongs to the parent process");
  return impl_->cycles().trace();
}

Result<void> Profiler::snapshot(const std::string& path) const {
  const auto lock = impl_->enter();
  if (!lock)
    return Failure(ErrorCode::Unsupported, "snapshot: this profiler belongs to the parent process");
  return impl_->cycles().snapshot(path);
}

std::string Profiler::path() const {
  const auto lock = impl_->enter();
  return lock ? impl_->cycles().path() : std::string();
}

std::string Profiler::trace_id() const {
  const auto lock = impl_->enter();
  return lock ? impl_->cycles().trace_id() : std::string();
}

void Profiler::set_custom_trace_id_callback(std::function<std::string()> callback) {
  if (const auto lock = impl_->enter()) impl_->cycles().set_trace_id_callback(std::move(callback));
}

void Profiler::add_metadata(std::string_view key, std::string_view value) {
  if (const auto lock = impl_->enter()) {
    impl_->cycles().set_metadata(std::string(key), json_string(value));
  }
}

Result<void> Profiler::add_metadata_json(std::string_view key, std::string_view json) {
  SONDE_TRY_VOID(check_metadata(key, json));
  if (const auto lock = impl_->enter()) {
    impl_->cycles().set_metadata(std::string(key), std::string(json));
  }
  return {};
}

Result<void> Profiler::preset_metadata_json(std::string_view key, std::string_view json) {
  SONDE_TRY_VOID(check_metadata(key, json));
  if (const auto lock = impl_->enter()) {
    impl_->cycles().preset_metadata(std::string(key), std::string(json));
  }
  return {};
}

}  // namespace sonde
