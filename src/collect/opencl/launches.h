// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Follows work from the call that enqueues it to the moment when the device has finished it. A
// callback of its event asks for the times. The program's own use of events is not affected.
//
//   const Launch launch("clEnqueueReadBuffer", queue, {.kind = SONDE_SPAN_COPY, …});
//   const cl_int status = next().clEnqueueReadBuffer(…, launch.event(event));
//   return launch.done(status);

#include <cstdint>

#include "collect/opencl/opencl.h"
#include "sonde/source/device.h"

namespace sonde::opencl {

// Work that is enqueued. It needs a name; the rest may be 0.
struct Work {
  std::uint8_t kind = SONDE_SPAN_KERNEL;
  std::uint8_t copy_kind = SONDE_COPY_UNKNOWN;
  const char* name = "";
  std::int64_t bytes = 0;
  std::uint32_t grid[3] = {};
  std::uint32_t block[3] = {};
};

// Lives for the duration of a call that launches work. Costs nothing while nothing records.
class Launch {
 public:
  Launch(const char* function, cl_command_queue queue, const Work& work);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  // The event to pass on in place of the program's own.
  cl_event* event(cl_event* wanted);
  // Pass what the call returned; returns it.
  cl_int done(cl_int status);

 private:
  struct Pending;
  Pending* pending_ = nullptr;
  cl_event own_ = nullptr;
  cl_event* event_ = nullptr;
  bool is_own_ = false;
  bool began_ = false;
};

// Lives for the duration of a call that launches nothing, such as a wait.
class Call {
 public:
  explicit Call(const char* function);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  bool began_;
};

// Waits for running work, but not for long. If `is_last`, work that is still running then counts as
// lost.
void finish_launches(bool is_last);

}  // namespace sonde::opencl
