// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Devices and queues of the program, numbered in the order in which they are first seen.

#include <cstdint>

#include "collect/opencl/opencl.h"

namespace sonde::opencl {

struct Queue {
  std::uint64_t number = 0;
  std::int32_t device = -1;
};

// Works for any queue, even if its creation was not seen.
Queue queue_of(cl_command_queue queue);
// Adds a new queue. If its handle was used before, that number stays with the older queue.
void add_queue(cl_command_queue queue, cl_device_id device);

// Records all devices that have a queue.
void describe_devices();

}  // namespace sonde::opencl
