// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/sources.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>

#include "base/own_process.h"
#include "base/signals.h"
#include "collect/record_options.h"
#include "sonde/source/sandbox.h"

namespace sonde {
namespace {

// How much device work may be lost when a program is killed.
constexpr std::chrono::milliseconds kFlushEvery(250);

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Source>> sources;
};

Registry& registry() {
  static auto* const instance = new Registry;  // outlives every thread
  return *instance;
}

std::vector<std::shared_ptr<Source>> all_sources() {
  const std::lock_guard guard(registry().mutex);
  return registry().sources;
}

bool asks_for(const RecordOptions& wanted, Activity activity) {
  const auto& activities = wanted.activities;
  return std::find(activities.begin(), activities.end(), activity) != activities.end();
}

// FLOPs are counted from shapes; native frames are part of a stack.
RecordOptions completed(RecordOptions wanted) {
  wanted.record_shapes |= wanted.with_flops;
  wanted.with_stack |= wanted.with_native_stack;
  return wanted;
}

// What a source of `activity` must record to serve all of them; nothing if none asks for it.
std::optional<RecordOptions> together(const std::vector<RecordOptions>& wanted, Activity activity) {
  std::optional<RecordOptions> all;
  for (const RecordOptions& one : wanted) {
    if (!asks_for(one, activity)) continue;
    if (!all) all = one;
    add_to(*all, one);
  }
  return all;
}

std::string what_records(Activity activity) {
  std::string own = "link a library that adds a source for it (sonde/source/plugin.h)";
  if (activity == Activity::Cuda)
    return "link Sonde::cuda, or start the program with `sonde run --gpu`";
  if (activity == Activity::PrivateUse1)
    return own + ", or for OpenCL start the program with `sonde run --opencl`";
  return own;
}

}  // namespace

void add_source(std::shared_ptr<Source> source) {
  const std::lock_guard guard(registry().mutex);
  auto& sources = registry().sources;
  if (std::find(sources.begin(), sources.end(), source) == sources.end())
    sources.push_back(std::move(source));
}

void remove_source(const Source& source) {
  const std::lock_guard guard(registry().mutex);
  std::erase_if(registry().sources, [&](const auto& known) { return known.get() == &source; });
}

std::vector<Activity> supported_activities() {
  std::vector<Activity> activities = {Activity::Cpu};
  for (const auto& source : all_sources()) activities.push_back(source->activity());
  std::sort(activities.begin(), activities.end());
  activities.erase(std::unique(activities.begin(), activities.end()), activities.end());
  return activities;
}

std::vector<std::string> unserved_by_sources(const RecordOptions& wanted) {
  const std::vector<Activity> served = supported_activities();
  std::vector<std::string> texts;
  for (const Activity activity : wanted.activities) {
    if (std::binary_search(served.begin(), served.end(), activity)) continue;
    texts.push_back(std::string(activity_name(activity)) +
                    ": nothing in this program can record it: " + what_records(activity));
  }
  return texts;
}

std::vector<std::string> ActiveSources::prepare(const RecordOptions& wanted) {
  sources_.clear();
  std::vector<std::string> failures;
  for (auto& source : all_sources()) {
    if (!asks_for(wanted, source->activity())) continue;
    if (auto prepared = source->prepare(completed(wanted)); prepared) {
      sources_.push_back(std::move(source));
    } else {
      failures.push_back(source->name() + ": " + prepared.error().message);
    }
  }
  return failures;
}

void ActiveSources::tell(const std::vector<RecordOptions>& wanted) {
  for (const auto& source : sources_) {
    const std::optional<RecordOptions> all = together(wanted, source->activity());
    // It can serve this session alone. Why it cannot serve more is for the source to say.
    if (all) static_cast<void>(source->prepare(completed(*all)));
  }
}

void ActiveSources::start() {
  const std::lock_guard lock(mutex_);
  started_ = true;
  for (const auto& source : sources_) source->start();
  const auto is_flushed = [](const auto& source) { return source->is_flushed(); };
  if (std::any_of(sources_.begin(), sources_.end(), is_flushed)) start_flusher();
}

void ActiveSources::start_flusher() {
  const SignalsBlocked blocked;
  try {
    flusher_ = std::jthread([this](const std::stop_token& stopped) { flush_until(stopped); });
  } catch (const std::system_error&) {
    flusher_ = {};  // stop() brings the rest
  }
}

void ActiveSources::flush_until(const std::stop_token& stopped) {
  ::pthread_setname_np(::pthread_self(), "sonde flush");
  std::mutex mutex;
  std::condition_variable_any waiting;
  std::unique_lock lock(mutex);
  for (;;) {
    waiting.wait_for(lock, stopped, kFlushEvery, [&] { return stopped.stop_requested(); });
    if (stopped.stop_requested()) return;
    flush();
  }
}

void ActiveSources::flush() {
  for (const auto& source : sources_) {
    if (source->is_flushed()) source->flush();
  }
}

void ActiveSources::stop() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(started_, false)) return;
  flusher_ = {};
  for (const auto& source : sources_) source->stop();
}

}  // namespace sonde

extern "C" int sonde_in_sandbox(void) {
  return sonde::is_in_sandbox() ? 1 : 0;
}
