// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Records calls of the CUDA runtime and driver where they are made. CUPTI calls back at both ends,
// on the calling thread, and the span written there nests among the thread's other spans. So the
// operator behind a launch is known without any table of CUPTI's own.

#include <cstdint>
#include <string_view>

#include "collect/cuda/cupti.h"

namespace sonde::cuda {

enum class Level : std::uint8_t {
  Linked = 0,  // calls that launch, copy, wait, allocate or concern graphs; for launches,
               // only the driver's function, also under the runtime's
  Lean = 1,    // no calls at all
  Full = 2,    // every call that Kineto shows; what waits waited for; CUPTI's overhead
};

// Whether a call with this name of CUPTI's is recorded.
bool is_recorded(CallbackDomain domain, std::string_view callback_name, Level level);

// The name without CUPTI's suffix: cudaLaunchKernel for cudaLaunchKernel_v7000.
std::string_view function_of(std::string_view callback_name);

class ApiCalls {
 public:
  // Subscribes. Fails if another tool uses CUPTI already.
  Result<void> open(const Cupti& cupti);
  void start(Level level);
  void stop();
  // Runs `action` after the first of the calls has returned.
  static void at_first_return(void (*action)());

 private:
  void enable(CallbackDomain domain, Level level, bool on);
  void enable_graph_nodes(bool on);

  const Cupti* cupti_ = nullptr;
  Subscriber subscriber_ = nullptr;
  Level level_ = Level::Linked;
};

}  // namespace sonde::cuda
