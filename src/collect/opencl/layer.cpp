// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An OpenCL layer (see OPENCL_LAYERS of the loader) that is a plugin of Sonde. Its functions record
// work that is enqueued and call the next layer. Queues are created with profiling on.

#include <atomic>
#include <cstring>
#include <vector>

#include "collect/opencl/enqueues.h"
#include "collect/opencl/launches.h"
#include "collect/opencl/opencl.h"
#include "collect/opencl/queues.h"
#include "sonde/source/plugin.h"

#define SONDE_EXPORT __attribute__((visibility("default")))

namespace sonde::opencl {

namespace {

cl_icd_dispatch& next_functions() {
  static cl_icd_dispatch instance = {};
  return instance;
}

std::atomic<int> recordings{0};

int prepare(void*, const sonde_request*, char*, std::size_t) {
  return 0;
}

void start(void*) {
  recordings.fetch_add(1);
  describe_devices();
}

void stop(void*) {
  finish_launches(recordings.fetch_sub(1) == 1);
}

constexpr sonde_plugin kPlugin = {sizeof(sonde_plugin),
                                  SONDE_ACTIVITY_PRIVATEUSE1,
                                  "opencl",
                                  nullptr,
                                  prepare,
                                  start,
                                  stop,
                                  nullptr};

// Runs when the layer is loaded, so that a session opened afterwards knows the plugin.
__attribute__((constructor)) void add_plugin() {
  sonde_add_plugin(&kPlugin);
}

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties, cl_int* error) {
  const Call call("clCreateCommandQueue");
  const auto make = [&](cl_command_queue_properties wanted) {
    return next().clCreateCommandQueue(context, device, wanted, error);
  };
  cl_command_queue queue = make(properties | CL_QUEUE_PROFILING_ENABLE);
  if (queue == nullptr) queue = make(properties);
  if (queue != nullptr) add_queue(queue, device);
  return queue;
}

// The same list with profiling on. Queues on the device itself are left alone.
std::vector<cl_queue_properties> with_profiling(const cl_queue_properties* properties) {
  std::vector<cl_queue_properties> list;
  bool has_flags = false;
  for (; properties != nullptr && properties[0] != 0; properties += 2) {
    cl_queue_properties value = properties[1];
    if (properties[0] == CL_QUEUE_PROPERTIES) {
      has_flags = true;
      if ((value & CL_QUEUE_ON_DEVICE) == 0) value |= CL_QUEUE_PROFILING_ENABLE;
    }
    list.insert(list.end(), {properties[0], value});
  }
  if (!has_flags) list.insert(list.end(), {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE});
  list.push_back(0);
  return list;
}

cl_command_queue CL_API_CALL create_queue_with_properties(cl_context context, cl_device_id device,
                                                          const cl_queue_properties* properties,
                                                          cl_int* error) {
  const Call call("clCreateCommandQueueWithProperties");
  const std::vector<cl_queue_properties> list = with_profiling(properties);
  cl_command_queue queue =
      next().clCreateCommandQueueWithProperties(context, device, list.data(), error);
  if (queue == nullptr) {
    queue = next().clCreateCommandQueueWithProperties(context, device, properties, error);
  }
  if (queue != nullptr) add_queue(queue, device);
  return queue;
}

cl_int CL_API_CALL finish(cl_command_queue queue) {
  const Call call("clFinish");
  return next().clFinish(queue);
}

cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event* events) {
  const Call call("clWaitForEvents");
  return next().clWaitForEvents(count, events);
}

cl_icd_dispatch our_functions() {
  cl_icd_dispatch ours = next();
  ours.clCreateCommandQueue = create_queue;
  if (ours.clCreateCommandQueueWithProperties != nullptr) {
    ours.clCreateCommandQueueWithProperties = create_queue_with_properties;
  }
  ours.clFinish = finish;
  ours.clWaitForEvents = wait_for_events;
  put_enqueues_into(ours);
  return ours;
}

}  // namespace

const cl_icd_dispatch& next() {
  return next_functions();
}

}  // namespace sonde::opencl

extern "C" {

SONDE_EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, std::size_t room, void* value,
                                               std::size_t* needed) {
  constexpr char kName[] = "Sonde";
  constexpr cl_layer_api_version kVersion = CL_LAYER_API_VERSION_100;
  const bool is_name = what == CL_LAYER_NAME;
  if (!is_name && what != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  const std::size_t size = is_name ? sizeof(kName) : sizeof(kVersion);
  if (needed != nullptr) *needed = size;
  if (value == nullptr) return CL_SUCCESS;
  if (room < size) return CL_INVALID_VALUE;
  std::memcpy(value, is_name ? static_cast<const void*>(kName) : &kVersion, size);
  return CL_SUCCESS;
}

SONDE_EXPORT cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch* target,
                                            cl_uint* our_count, const cl_icd_dispatch** ours) {
  constexpr std::size_t kKnown = sizeof(cl_icd_dispatch) / sizeof(void*);
  if (target == nullptr || our_count == nullptr || ours == nullptr) return CL_INVALID_VALUE;
  // The loader of an older OpenCL has fewer functions.
  const std::size_t common = count < kKnown ? count : kKnown;
  std::memcpy(static_cast<void*>(&sonde::opencl::next_functions()), target, common * sizeof(void*));
  static cl_icd_dispatch functions;
  functions = sonde::opencl::our_functions();
  *our_count = static_cast<cl_uint>(common);
  *ours = &functions;
  return CL_SUCCESS;
}

}  // extern "C"
