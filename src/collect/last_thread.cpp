// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/last_thread.h"

#include <unistd.h>

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
}

OwnThread::~OwnThread() {
  own_threads.fetch_sub(1);
}

void forget_own_threads() {
  own_threads.store(0);
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
