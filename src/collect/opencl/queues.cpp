// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/opencl/queues.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "sonde/source/device.h"
#include "sonde/source/op.h"
#include "wire/sized.h"

namespace sonde::opencl {

namespace {

struct Known {
  std::mutex mutex;
  std::vector<cl_device_id> devices;
  std::map<cl_command_queue, Queue> queues;
  std::uint64_t last_queue = 0;
};

Known& known() {
  static auto* const instance = new Known;  // outlives every thread
  return *instance;
}

template <typename Value>
Value device_info(cl_device_id device, cl_device_info what) {
  Value value = {};
  return next().clGetDeviceInfo(device, what, sizeof(value), &value, nullptr) == CL_SUCCESS
             ? value
             : Value{};
}

void describe(cl_device_id device, std::int32_t index) {
  char name[256] = "";
  next().clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name) - 1, name, nullptr);
  auto facts = sized<sonde_device_properties>();
  facts.name = sonde_name(name, std::strlen(name));
  facts.type = SONDE_DEVICE_OPENCL;
  facts.index = static_cast<std::int16_t>(index);
  facts.total_memory_bytes = device_info<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);
  facts.multiprocessors = device_info<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS);
  facts.clock_khz = 1000 * device_info<cl_uint>(device, CL_DEVICE_MAX_CLOCK_FREQUENCY);
  sonde_device_is(&facts);
}

Queue add_locked(Known& all, cl_command_queue queue, cl_device_id device) {
  const auto found = std::find(all.devices.begin(), all.devices.end(), device);
  const auto index = static_cast<std::int32_t>(found - all.devices.begin());
  if (found == all.devices.end()) {
    all.devices.push_back(device);
    describe(device, index);
  }
  return all.queues[queue] = {++all.last_queue, index};
}

}  // namespace

Queue queue_of(cl_command_queue queue) {
  Known& all = known();
  const std::lock_guard lock(all.mutex);
  const auto found = all.queues.find(queue);
  if (found != all.queues.end()) return found->second;
  cl_device_id device = nullptr;
  next().clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(cl_device_id),
                               static_cast<void*>(&device), nullptr);
  return add_locked(all, queue, device);
}

void add_queue(cl_command_queue queue, cl_device_id device) {
  Known& all = known();
  const std::lock_guard lock(all.mutex);
  add_locked(all, queue, device);
}

void describe_devices() {
  Known& all = known();
  const std::lock_guard lock(all.mutex);
  for (std::size_t i = 0; i < all.devices.size(); ++i) {
    describe(all.devices[i], static_cast<std::int32_t>(i));
  }
}

}  // namespace sonde::opencl
