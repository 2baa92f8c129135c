// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/torch_observers.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <x86intrin.h>

#include <optional>
#include <set>

#include "sonde/profiler.h"
#include "sonde/torch.h"

namespace sonde::bench {
namespace {

namespace theirs = ::torch::autograd::profiler;
namespace impl = ::torch::profiler::impl;

using Context = std::unique_ptr<at::ObserverContext>;

class Callback : public Observer {
 public:
  Callback(std::string name, at::RecordFunctionCallback callback)
      : name_(std::move(name)), callback_(callback) {}
  std::string name() const override { return name_; }
  void start() override { handle_ = at::addGlobalCallback(callback_); }
  void stop() override { at::removeCallback(handle_); }

 private:
  std::string name_;
  at::RecordFunctionCallback callback_;
  at::CallbackHandle handle_ = 0;
};

Context begin_nothing(const at::RecordFunction& /*fn*/) {
  return nullptr;
}
void end_nothing(const at::RecordFunction& /*fn*/, at::ObserverContext* /*context*/) {}

// The floor: what every observer must do that stamps both ends of an operator and keeps the stamps.
struct Record {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t id;
  const char* name;
};
constexpr std::size_t kRecords = (std::size_t{1} << 20) / sizeof(Record);
constexpr std::size_t kDeepest = 1024;
struct FloorState {
  std::uint64_t begins[kDeepest];
  std::size_t depth;
  std::size_t used;
  Record records[kRecords];
};
thread_local FloorState floor_state;

Context begin_floor(const at::RecordFunction& /*fn*/) {
  FloorState& state = floor_state;
  state.begins[state.depth++ % kDeepest] = __rdtsc();
  return nullptr;
}
void end_floor(const at::RecordFunction& fn, at::ObserverContext* /*context*/) {
  FloorState& state = floor_state;
  Record& record = state.records[state.used++ % kRecords];
  record.begin = state.begins[--state.depth % kDeepest];
  record.id = fn.handle();
  record.name = fn.name();
  record.end = __rdtsc();
}

std::uint64_t counted = 0;
Context count_one(const at::RecordFunction& /*fn*/) {
  ++counted;
  return nullptr;
}

std::string with_wishes(std::string name, Wishes wishes) {
  if (wishes.shapes) name += ", shapes";
  if (wishes.memory) name += ", memory";
  return name;
}

class SondeProfiler : public Observer {
 public:
  explicit SondeProfiler(Wishes wishes) : wishes_(wishes) { sonde::torch::attach(); }
  std::string name() const override { return with_wishes("sonde", wishes_); }
  void start() override {
    ProfilerOptions options;
    options.record.record_shapes = wishes_.shapes;
    options.record.profile_memory = wishes_.memory;
    profiler_.emplace(options);
    profiler_->start();
  }
  void stop() override { profiler_->stop(); }
  void answer() override { table_ = *profiler_->key_averages().table(); }
  void forget() override { profiler_.reset(); }

 private:
  const Wishes wishes_;
  std::optional<Profiler> profiler_;
  std::string table_;
};

class TorchProfiler : public Observer {
 public:
  explicit TorchProfiler(Wishes wishes) : wishes_(wishes) {}
  std::string name() const override { return with_wishes("torch", wishes_); }
  void start() override {
    const impl::ProfilerConfig config(impl::ProfilerState::KINETO, wishes_.shapes, wishes_.memory);
    const std::set<impl::ActivityType> activities{impl::ActivityType::CPU};
    theirs::prepareProfiler(config, activities);
    theirs::enableProfiler(config, activities);
  }
  void stop() override { result_ = theirs::disableProfiler(); }
  void forget() override { result_.reset(); }

 private:
  const Wishes wishes_;
  std::unique_ptr<theirs::ProfilerResult> result_;
};

class Nothing : public Observer {
 public:
  std::string name() const override { return "no callback"; }
  void start() override {}
  void stop() override {}
};

}  // namespace

std::unique_ptr<Observer> nothing() {
  return std::make_unique<Nothing>();
}

std::unique_ptr<Observer> empty_callback() {
  return std::make_unique<Callback>(
      "empty callback", at::RecordFunctionCallback(&begin_nothing, &end_nothing).needsIds(true));
}

std::unique_ptr<Observer> floor_callback() {
  return std::make_unique<Callback>(
      "two clock reads, 32 bytes",
      at::RecordFunctionCallback(&begin_floor, &end_floor).needsIds(true));
}

std::unique_ptr<Observer> floor_callback_with_inputs() {
  return std::make_unique<Callback>(
      "the same, inputs asked for",
      at::RecordFunctionCallback(&begin_floor, &end_floor).needsIds(true).needsInputs(true));
}

std::unique_ptr<Observer> sonde_profiler(Wishes wishes) {
  return std::make_unique<SondeProfiler>(wishes);
}

std::unique_ptr<Observer> torch_profiler(Wishes wishes) {
  return std::make_unique<TorchProfiler>(wishes);
}

std::vector<std::unique_ptr<Observer>> all_observers() {
  std::vector<std::unique_ptr<Observer>> all;
  all.push_back(nothing());
  all.push_back(empty_callback());
  all.push_back(floor_callback());
  all.push_back(floor_callback_with_inputs());
  constexpr Wishes kEach[] = {{false, false}, {true, false}, {false, true}, {true, true}};
  for (const Wishes wishes : kEach) all.push_back(sonde_profiler(wishes));
  for (const Wishes wishes : kEach) all.push_back(torch_profiler(wishes));
  return all;
}

std::uint64_t count_events(const std::function<void()>& program) {
  const at::CallbackHandle handle =
      at::addGlobalCallback(at::RecordFunctionCallback(&count_one, &end_nothing));
  counted = 0;
  program();
  at::removeCallback(handle);
  return counted;
}

}  // namespace sonde::bench
