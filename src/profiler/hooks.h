// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a Profiler depends on, so that tests can replace it.

#include <functional>
#include <memory>

#include "collect/session.h"
#include "sonde/profiler.h"
#include "sonde/result.h"

namespace sonde {

struct ProfilerHooks {
  std::function<Result<std::unique_ptr<Session>>(SessionOptions)> open_session = &Session::open;
  // Whether a device has ended its recording by itself, for example because its buffers overflowed.
  // Called once a step if an activity other than Cpu is recorded; null: never.
  std::function<bool()> device_stopped = nullptr;
};

struct ProfilerMaker {
  static Profiler make(ProfilerOptions options, const ProfilerHooks& hooks);
};

}  // namespace sonde
