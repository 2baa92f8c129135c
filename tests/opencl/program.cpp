// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that uses OpenCL: two threads, each with an in-order and an out-of-order queue, on
// which it writes, fills, copies, maps, computes and reads, with and without events of its own.
// Prints how often it enqueued something; exits with 77 if there is no device. With an argument it
// also leaves a kernel behind that waits for something that never happens.

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#ifdef WITH_SCOPES
#include "sonde/record.h"
#else
#define SONDE_SCOPE(name)
#endif

namespace {

constexpr int kNoDevice = 77;
constexpr std::size_t kItems = 1024;
constexpr std::size_t kBytes = kItems * sizeof(float);
constexpr int kRounds = 20;

constexpr const char* kSource =
    "kernel void scale(global float* a, float by) { a[get_global_id(0)] *= by; }";

std::atomic<int> enqueued{0};

void check(cl_int status, const char* what) {
  if (status == CL_SUCCESS) return;
  std::fprintf(stderr, "%s: %d\n", what, status);
  std::exit(1);
}

void put(cl_int status, const char* what) {
  check(status, what);
  ++enqueued;
}

struct Device {
  cl_context context;
  cl_device_id device;
  cl_kernel kernel;
};

Device open_device() {
  cl_platform_id platform = nullptr;
  cl_uint platforms = 0;
  if (clGetPlatformIDs(1, &platform, &platforms) != CL_SUCCESS || platforms == 0) {
    std::exit(kNoDevice);
  }
  Device opened{};
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &opened.device, nullptr) != CL_SUCCESS) {
    std::exit(kNoDevice);
  }
  cl_int status = CL_SUCCESS;
  opened.context = clCreateContext(nullptr, 1, &opened.device, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  const char* source = kSource;
  cl_program program = clCreateProgramWithSource(opened.context, 1, &source, nullptr, &status);
  check(status, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &opened.device, "", nullptr, nullptr), "clBuildProgram");
  opened.kernel = clCreateKernel(program, "scale", &status);
  check(status, "clCreateKernel");
  clReleaseProgram(program);
  return opened;
}

void work_in_order(cl_command_queue queue, cl_kernel kernel, cl_mem a, cl_mem b) {
  SONDE_SCOPE("in order");
  std::vector<float> host(kItems, 1.0F);
  const float zero = 0;
  put(clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, kBytes, host.data(), 0, nullptr, nullptr),
      "write");
  put(clEnqueueFillBuffer(queue, b, &zero, sizeof(zero), 0, kBytes, 0, nullptr, nullptr), "fill");
  put(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, nullptr, 0, nullptr, nullptr),
      "kernel");
  put(clEnqueueCopyBuffer(queue, a, b, 0, 0, kBytes, 0, nullptr, nullptr), "copy");
  put(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, kBytes, host.data(), 0, nullptr, nullptr), "read");
  if (host[0] != 2.0F) check(-1, "the result");
  cl_int status = CL_SUCCESS;
  void* mapped =
      clEnqueueMapBuffer(queue, b, CL_TRUE, CL_MAP_READ, 0, kBytes, 0, nullptr, nullptr, &status);
  put(status, "map");
  put(clEnqueueUnmapMemObject(queue, b, mapped, 0, nullptr, nullptr), "unmap");
  check(clFinish(queue), "clFinish");
}

void work_out_of_order(cl_command_queue queue, cl_kernel kernel, cl_mem a) {
  SONDE_SCOPE("out of order");
  std::vector<float> host(kItems, 1.0F);
  const std::size_t group = 64;
  cl_event wrote = nullptr;
  cl_event ran = nullptr;
  put(clEnqueueWriteBuffer(queue, a, CL_FALSE, 0, kBytes, host.data(), 0, nullptr, &wrote),
      "write");
  put(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, &group, 1, &wrote, &ran),
      "kernel");
  check(clWaitForEvents(1, &ran), "clWaitForEvents");
  clReleaseEvent(wrote);
  clReleaseEvent(ran);
}

void use_queues(const Device& device) {
  cl_int status = CL_SUCCESS;
  cl_command_queue in_order = clCreateCommandQueue(device.context, device.device, 0, &status);
  check(status, "clCreateCommandQueue");
  cl_command_queue out_of_order = clCreateCommandQueue(
      device.context, device.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
  check(status, "clCreateCommandQueue");
  cl_kernel kernel = device.kernel;
  cl_mem a = clCreateBuffer(device.context, CL_MEM_READ_WRITE, kBytes, nullptr, &status);
  cl_mem b = clCreateBuffer(device.context, CL_MEM_READ_WRITE, kBytes, nullptr, &status);
  check(status, "clCreateBuffer");
  const float by = 2;
  check(clSetKernelArg(kernel, 0, sizeof(a), static_cast<void*>(&a)), "clSetKernelArg");
  check(clSetKernelArg(kernel, 1, sizeof(by), &by), "clSetKernelArg");
  for (int i = 0; i < kRounds; ++i) {
    work_in_order(in_order, kernel, a, b);
    work_out_of_order(out_of_order, kernel, a);
  }
  clReleaseMemObject(a);
  clReleaseMemObject(b);
  clReleaseCommandQueue(in_order);
  clReleaseCommandQueue(out_of_order);
}

void leave_work_behind(const Device& device) {
  cl_int status = CL_SUCCESS;
  cl_command_queue queue = clCreateCommandQueue(device.context, device.device,
                                                CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
  check(status, "clCreateCommandQueue");
  cl_mem buffer = clCreateBuffer(device.context, CL_MEM_READ_WRITE, kBytes, nullptr, &status);
  check(status, "clCreateBuffer");
  check(clSetKernelArg(device.kernel, 0, sizeof(buffer), static_cast<void*>(&buffer)),
        "clSetKernelArg");
  cl_event never = clCreateUserEvent(device.context, &status);
  check(status, "clCreateUserEvent");
  put(clEnqueueNDRangeKernel(queue, device.kernel, 1, nullptr, &kItems, nullptr, 1, &never,
                             nullptr),
      "kernel");
  check(clFlush(queue), "clFlush");
}

}  // namespace

int main(int argc, char**) {
  const Device first = open_device();
  const Device second = open_device();  // a kernel's arguments belong to one thread
  std::thread other([&] { use_queues(second); });
  use_queues(first);
  other.join();
  if (argc > 1) leave_work_behind(first);
  std::printf("%d\n", enqueued.load());
}
