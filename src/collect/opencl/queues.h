// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Devices and queues of the program, numbered in the order in which it came to them.

#include <cstdint>

#include "collect/opencl/opencl.h"

namespace sonde::opencl {

struct Queue {
  std::uint64_t number = 0;
  std::int32_t device = -1;
};

// Of any queue, whether it was seen when it was made or not.
Queue queue_of(cl_command_queue queue);
// A queue was made; the number that its handle had before is an older queue's.
void add_queue(cl_command_queue queue, cl_device_id device);

// Records all devices that have a queue.
void describe_devices();

}  // namespace sonde::opencl
