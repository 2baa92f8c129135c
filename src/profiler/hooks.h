// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a Profiler stands on, and how tests make one that stands on something else.

#include <functional>
#include <memory>

#include "collect/session.h"
#include "sonde/profiler.h"
#include "sonde/result.h"

namespace sonde {

struct ProfilerHooks {
  std::function<Result<std::unique_ptr<Session>>(SessionOptions)> open_session = &Session::open;
  // Whether a device has ended its recording by itself, as when its buffers overflowed. Asked once
  // a step if an activity other than Cpu is recorded; null: no device does.
  std::function<bool()> device_stopped = nullptr;
};

struct ProfilerMaker {
  static Profiler make(ProfilerOptions options, const ProfilerHooks& hooks);
};

}  // namespace sonde
