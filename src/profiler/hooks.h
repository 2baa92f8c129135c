// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a Profiler stands on, to be replaced by tests.

#include <functional>
#include <memory>

#include "collect/session.h"
#include "sonde/result.h"

namespace sonde::detail {

struct ProfilerHooks {
  std::function<Result<std::unique_ptr<Session>>(SessionOptions)> open_session = &Session::open;
  // Whether a device has ended its recording by itself, as when its buffers overflowed. Asked once
  // a step if an activity other than Cpu is recorded; null: no device does.
  std::function<bool()> device_stopped = nullptr;
};

}  // namespace sonde::detail
