// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/last_thread.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "base/own_process.h"
#include "base/signals.h"
#include "collect/collector.h"

namespace sonde {
namespace {

std::atomic<int> own_threads{0};
// Their ids, 0 where there is none. A thread that finds no place is not known.
std::array<std::atomic<std::int64_t>, 8> own_ids{};
std::atomic<bool> is_ending{false};

[[noreturn]] void end_program(const EndedLeader& leader) {
  // A thread that ended with a status made the system call itself, so no handlers run.
  const bool runs_handlers = leader.exit_status == 0 && !leader.was_strict;
  if (runs_handlers) std::exit(0);
  Collector::instance().finish_all();
  ::_exit(leader.exit_status);
}

}  // namespace

OwnThread::OwnThread() {
  own_threads.fetch_add(1);
  for (std::int64_t none = 0; place_ < own_ids.size(); ++place_, none = 0) {
    if (own_ids[place_].compare_exchange_strong(none, ::gettid())) break;
  }
}

OwnThread::~OwnThread() {
  if (place_ < own_ids.size()) own_ids[place_].store(0);
  own_threads.fetch_sub(1);
}

bool is_own_thread(std::int64_t kernel_id) {
  return std::any_of(own_ids.begin(), own_ids.end(),
                     [&](const auto& id) { return id.load() == kernel_id; });
}

void forget_own_threads() {
  own_threads.store(0);
  for (auto& id : own_ids) id.store(0);
  is_ending.store(false);
}

void end_with_last_thread() {
  const auto leader = ended_leader();
  if (!leader || leader->threads_left > own_threads.load() || is_ending.exchange(true)) return;
  // On a separate thread, because the thread that ends the program waits for the drainer.
  const SignalsBlocked blocked;
  try {
    std::thread([leader = *leader] { end_program(leader); }).detach();
  } catch (const std::system_error&) {
    is_ending.store(false);
  }
}

}  // namespace sonde
