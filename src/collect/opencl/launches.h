// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Work from the call that puts it into a queue to the moment when the device has done it. Its times
// are asked for by a callback of its event; the program's own use of events is not touched.
//
//   const Launch launch("clEnqueueReadBuffer", queue, {.kind = SONDE_SPAN_COPY, …});
//   const cl_int status = next().clEnqueueReadBuffer(…, launch.event(event));
//   return launch.done(status);

#include <cstdint>

#include "collect/opencl/opencl.h"
#include "sonde/source/device.h"

namespace sonde::opencl {

// What is put into a queue; a name is needed, the rest may be 0.
struct Work {
  std::uint8_t kind = SONDE_SPAN_KERNEL;
  std::uint8_t copy_kind = SONDE_COPY_UNKNOWN;
  const char* name = "";
  std::int64_t bytes = 0;
  std::uint32_t grid[3] = {};
  std::uint32_t block[3] = {};
};

// A call that launches work, while it lasts. Not recorded: costs nothing.
class Launch {
 public:
  Launch(const char* function, cl_command_queue queue, const Work& work);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  // What to hand on in place of the program's own.
  cl_event* event(cl_event* wanted);
  // With what the call returned, which it returns.
  cl_int done(cl_int status);

 private:
  struct Pending;
  Pending* pending_ = nullptr;
  cl_event own_ = nullptr;
  cl_event* event_ = nullptr;
  bool is_own_ = false;
  bool began_ = false;
};

// A call that launches nothing, such as one that waits, while it lasts.
class Call {
 public:
  explicit Call(const char* function);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  bool began_;
};

// Waits for work that is under way, but not for long. If nobody records any further, what is still
// under way then is counted as lost.
void finish_launches(bool is_last);

}  // namespace sonde::opencl
