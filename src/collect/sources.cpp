// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/sources.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>

#include "base/signals.h"

namespace sonde {
namespace {

// How much of what a device reports may be lost when a program is killed.
constexpr std::chrono::milliseconds kFlushEvery(250);

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Source>> sources;
};

Registry& registry() {
  static auto* const instance = new Registry;  // outlives every thread
  return *instance;
}

const char* activity_name(Activity activity) {
  static constexpr const char* kNames[] = {"cpu", "xpu", "cuda", "hpu", "mtia", "privateuse1"};
  const auto number = static_cast<std::size_t>(activity);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

std::vector<std::shared_ptr<Source>> all_sources() {
  const std::lock_guard guard(registry().mutex);
  return registry().sources;
}

bool asks_for(const SourceRequest& request, Activity activity) {
  const auto& wanted = request.activities;
  return std::find(wanted.begin(), wanted.end(), activity) != wanted.end();
}

// What `source` has to serve all of them with; nothing if none asks for it.
std::optional<SourceRequest> together(const std::vector<SourceRequest>& wanted, Activity activity) {
  std::optional<SourceRequest> all;
  const auto most = [](GpuLevel a, GpuLevel b) {
    if (a == GpuLevel::Full || b == GpuLevel::Full) return GpuLevel::Full;
    return a == GpuLevel::Lean ? b : a;
  };
  for (const SourceRequest& one : wanted) {
    if (!asks_for(one, activity)) continue;
    if (!all) {
      all = one;
      continue;
    }
    all->record_shapes |= one.record_shapes;
    all->profile_memory |= one.profile_memory;
    all->with_stack |= one.with_stack;
    all->with_flops |= one.with_flops;
    all->with_modules |= one.with_modules;
    all->gpu_level = most(all->gpu_level, one.gpu_level);
  }
  return all;
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

std::vector<Activity> source_activities() {
  std::vector<Activity> activities;
  for (const auto& source : all_sources()) activities.push_back(source->activity());
  std::sort(activities.begin(), activities.end());
  activities.erase(std::unique(activities.begin(), activities.end()), activities.end());
  return activities;
}

std::vector<std::pair<std::string, std::string>> request_flags(const SourceRequest& request) {
  std::vector<std::pair<std::string, std::string>> flags;
  const auto add = [&](bool flag, const char* key) {
    if (flag) flags.emplace_back(key, "1");
  };
  add(request.profile_memory, "profile_memory");
  add(request.with_stack, "with_stack");
  add(request.record_shapes, "record_shapes");
  add(request.with_modules, "with_modules");
  add(request.with_flops, "with_flops");
  return flags;
}

std::vector<std::string> ActiveSources::prepare(const SourceRequest& request) {
  sources_.clear();
  std::vector<std::string> failures;
  const std::vector<Activity> served = source_activities();
  for (const Activity activity : request.activities) {
    if (activity == Activity::Cpu || std::binary_search(served.begin(), served.end(), activity))
      continue;
    failures.push_back(std::string(activity_name(activity)) +
                       ": nothing in this program can record it");
  }
  for (auto& source : all_sources()) {
    if (!asks_for(request, source->activity())) continue;
    if (auto prepared = source->prepare(request); prepared) {
      sources_.push_back(std::move(source));
    } else {
      failures.push_back(source->name() + ": " + prepared.error().message);
    }
  }
  return failures;
}

void ActiveSources::tell(const std::vector<SourceRequest>& wanted) {
  for (const auto& source : sources_) {
    const std::optional<SourceRequest> all = together(wanted, source->activity());
    // It could serve this session alone: that it cannot serve more is its own business.
    if (all) static_cast<void>(source->prepare(*all));
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
    flusher_ = {};  // all comes with stop(), then
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
