// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/opencl/enqueues.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "collect/opencl/launches.h"
#include "sonde/sonde.h"

namespace sonde::opencl {

namespace {

using Sizes = const std::size_t*;
using Events = const cl_event*;

Work copy(std::uint8_t copy_kind, const char* name, std::size_t bytes) {
  Work work;
  work.kind = SONDE_SPAN_COPY;
  work.copy_kind = copy_kind;
  work.name = name;
  work.bytes = static_cast<std::int64_t>(bytes);
  return work;
}

Work read(std::size_t bytes) {
  return copy(SONDE_COPY_DTOH, "Memcpy DtoH", bytes);
}
Work write(std::size_t bytes) {
  return copy(SONDE_COPY_HTOD, "Memcpy HtoD", bytes);
}
Work move(std::size_t bytes) {
  return copy(SONDE_COPY_DTOD, "Memcpy DtoD", bytes);
}
Work fill(std::size_t bytes) {
  Work work = copy(SONDE_COPY_UNKNOWN, "Memset", bytes);
  work.kind = SONDE_SPAN_FILL;
  work.copy_kind = SONDE_COPY_FILL;
  return work;
}

std::size_t volume(Sizes region) {
  return region == nullptr ? 0 : region[0] * region[1] * region[2];
}

// Called only while something records.
std::size_t image_bytes(cl_mem image, Sizes region) {
  std::size_t element = 0;
  if (sonde_is_recording() == 0) return 0;
  next().clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element, nullptr);
  return element * volume(region);
}

std::size_t memory_bytes(cl_mem memory) {
  std::size_t bytes = 0;
  if (sonde_is_recording() == 0) return 0;
  next().clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(bytes), &bytes, nullptr);
  return bytes;
}

std::string kernel_name(cl_kernel kernel) {
  std::size_t size = 0;
  if (sonde_is_recording() == 0) return {};
  if (next().clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, nullptr, &size) != CL_SUCCESS) {
    return "kernel";
  }
  std::string name(size, '\0');
  next().clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, size, name.data(), nullptr);
  name.resize(name.find('\0') == std::string::npos ? size : name.find('\0'));
  return name;
}

// Sets the groups and the items in each. If the program leaves the grouping to the device, items
// count as groups, and the size of a group is unknown.
void set_shape(Work& work, cl_uint dimensions, Sizes global, Sizes local) {
  for (cl_uint i = 0; i < 3; ++i) {
    const std::size_t items = i < dimensions && global != nullptr ? global[i] : 1;
    const std::size_t group = i < dimensions && local != nullptr ? local[i] : 1;
    work.grid[i] = static_cast<std::uint32_t>(group == 0 ? 0 : (items + group - 1) / group);
    work.block[i] = local == nullptr ? 0 : static_cast<std::uint32_t>(group);
  }
}

cl_int CL_API_CALL kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                          Sizes offset, Sizes global, Sizes local, cl_uint waits, Events wait_for,
                          cl_event* event) {
  const std::string name = kernel_name(kernel);
  Work work;
  work.name = name.c_str();
  set_shape(work, dimensions, global, local);
  Launch launch("clEnqueueNDRangeKernel", queue, work);
  return launch.done(next().clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local,
                                                   waits, wait_for, launch.event(event)));
}

cl_int CL_API_CALL task(cl_command_queue queue, cl_kernel kernel, cl_uint waits, Events wait_for,
                        cl_event* event) {
  const std::string name = kernel_name(kernel);
  Work work;
  work.name = name.c_str();
  std::fill_n(work.grid, 3, 1U);
  std::fill_n(work.block, 3, 1U);
  Launch launch("clEnqueueTask", queue, work);
  return launch.done(next().clEnqueueTask(queue, kernel, waits, wait_for, launch.event(event)));
}

cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                               std::size_t offset, std::size_t bytes, void* to, cl_uint waits,
                               Events wait_for, cl_event* event) {
  Launch launch("clEnqueueReadBuffer", queue, read(bytes));
  return launch.done(next().clEnqueueReadBuffer(queue, buffer, blocking, offset, bytes, to, waits,
                                                wait_for, launch.event(event)));
}

cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                std::size_t offset, std::size_t bytes, const void* from,
                                cl_uint waits, Events wait_for, cl_event* event) {
  Launch launch("clEnqueueWriteBuffer", queue, write(bytes));
  return launch.done(next().clEnqueueWriteBuffer(queue, buffer, blocking, offset, bytes, from,
                                                 waits, wait_for, launch.event(event)));
}

cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to, std::size_t from_at,
                               std::size_t to_at, std::size_t bytes, cl_uint waits, Events wait_for,
                               cl_event* event) {
  Launch launch("clEnqueueCopyBuffer", queue, move(bytes));
  return launch.done(next().clEnqueueCopyBuffer(queue, from, to, from_at, to_at, bytes, waits,
                                                wait_for, launch.event(event)));
}

cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void* pattern,
                               std::size_t pattern_bytes, std::size_t offset, std::size_t bytes,
                               cl_uint waits, Events wait_for, cl_event* event) {
  Launch launch("clEnqueueFillBuffer", queue, fill(bytes));
  return launch.done(next().clEnqueueFillBuffer(queue, buffer, pattern, pattern_bytes, offset,
                                                bytes, waits, wait_for, launch.event(event)));
}

cl_int CL_API_CALL read_rectangle(cl_command_queue queue, cl_mem buffer, cl_bool blocking, Sizes at,
                                  Sizes host_at, Sizes region, std::size_t row, std::size_t slice,
                                  std::size_t host_row, std::size_t host_slice, void* to,
                                  cl_uint waits, Events wait_for, cl_event* event) {
  Launch launch("clEnqueueReadBufferRect", queue, read(volume(region)));
  return launch.done(next().clEnqueueReadBufferRect(queue, buffer, blocking, at, host_at, region,
                                                    row, slice, host_row, host_slice, to, waits,
                                                    wait_for, launch.event(event)));
}

cl_int CL_API_CALL write_rectangle(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                   Sizes at, Sizes host_at, Sizes region, std::size_t row,
                                   std::size_t slice, std::size_t host_row, std::size_t host_slice,
                                   const void* from, cl_uint waits, Events wait_for,
                                   cl_event* event) {
  Launch launch("clEnqueueWriteBufferRect", queue, write(volume(region)));
  return launch.done(next().clEnqueueWriteBufferRect(queue, buffer, blocking, at, host_at, region,
                                                     row, slice, host_row, host_slice, from, waits,
                                                     wait_for, launch.event(event)));
}

cl_int CL_API_CALL copy_rectangle(cl_command_queue queue, cl_mem from, cl_mem to, Sizes from_at,
                                  Sizes to_at, Sizes region, std::size_t from_row,
                                  std::size_t from_slice, std::size_t to_row, std::size_t to_slice,
                                  cl_uint waits, Events wait_for, cl_event* event) {
  Launch launch("clEnqueueCopyBufferRect", queue, move(volume(region)));
  return launch.done(next().clEnqueueCopyBufferRect(queue, from, to, from_at, to_at, region,
                                                    from_row, from_slice, to_row, to_slice, waits,
                                                    wait_for, launch.event(event)));
}

cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image, cl_bool blocking, Sizes at,
                              Sizes region, std::size_t row, std::size_t slice, void* to,
                              cl_uint waits, Events wait_for, cl_event* event) {
  Launch launch("clEnqueueReadImage", queue, read(image_bytes(image, region)));
  return launch.done(next().clEnqueueReadImage(queue, image, blocking, at, region, row, slice, to,
                                               waits, wait_for, launch.event(event)));
}

cl_int CL_API_CALL write_image(cl_command_queue queue, cl_mem image, cl_bool blocking, Sizes at,
                               Sizes region, std::size_t row, std::size_t slice, const void* from,
                               cl_uint waits, Events wait_for, cl_event* event) {
  Launch launch("clEnqueueWriteImage", queue, write(image_bytes(image, region)));
  return launch.done(next().clEnqueueWriteImage(queue, image, blocking, at, region, row, slice,
                                                from, waits, wait_for, launch.event(event)));
}

cl_int CL_API_CALL copy_image(cl_command_queue queue, cl_mem from, cl_mem to, Sizes from_at,
                              Sizes to_at, Sizes region, cl_uint waits, Events wait_for,
                              cl_event* event) {
  Launch launch("clEnqueueCopyImage", queue, move(image_bytes(from, region)));
  return launch.done(next().clEnqueueCopyImage(queue, from, to, from_at, to_at, region, waits,
                                               wait_for, launch.event(event)));
}

cl_int CL_API_CALL copy_image_to_buffer(cl_command_queue queue, cl_mem from, cl_mem to, Sizes at,
                                        Sizes region, std::size_t offset, cl_uint waits,
                                        Events wait_for, cl_event* event) {
  Launch launch("clEnqueueCopyImageToBuffer", queue, move(image_bytes(from, region)));
  return launch.done(next().clEnqueueCopyImageToBuffer(queue, from, to, at, region, offset, waits,
                                                       wait_for, launch.event(event)));
}

cl_int CL_API_CALL copy_buffer_to_image(cl_command_queue queue, cl_mem from, cl_mem to,
                                        std::size_t offset, Sizes at, Sizes region, cl_uint waits,
                                        Events wait_for, cl_event* event) {
  Launch launch("clEnqueueCopyBufferToImage", queue, move(image_bytes(to, region)));
  return launch.done(next().clEnqueueCopyBufferToImage(queue, from, to, offset, at, region, waits,
                                                       wait_for, launch.event(event)));
}

cl_int CL_API_CALL fill_image(cl_command_queue queue, cl_mem image, const void* colour, Sizes at,
                              Sizes region, cl_uint waits, Events wait_for, cl_event* event) {
  Launch launch("clEnqueueFillImage", queue, fill(image_bytes(image, region)));
  return launch.done(next().clEnqueueFillImage(queue, image, colour, at, region, waits, wait_for,
                                               launch.event(event)));
}

void* CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                             cl_map_flags flags, std::size_t offset, std::size_t bytes,
                             cl_uint waits, Events wait_for, cl_event* event, cl_int* error) {
  Launch launch("clEnqueueMapBuffer", queue, copy(SONDE_COPY_DTOH, "Map", bytes));
  cl_int status = CL_SUCCESS;
  void* const mapped = next().clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, bytes,
                                                 waits, wait_for, launch.event(event), &status);
  launch.done(status);
  if (error != nullptr) *error = status;
  return mapped;
}

void* CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                            cl_map_flags flags, Sizes at, Sizes region, std::size_t* row,
                            std::size_t* slice, cl_uint waits, Events wait_for, cl_event* event,
                            cl_int* error) {
  Launch launch("clEnqueueMapImage", queue,
                copy(SONDE_COPY_DTOH, "Map", image_bytes(image, region)));
  cl_int status = CL_SUCCESS;
  void* const mapped =
      next().clEnqueueMapImage(queue, image, blocking, flags, at, region, row, slice, waits,
                               wait_for, launch.event(event), &status);
  launch.done(status);
  if (error != nullptr) *error = status;
  return mapped;
}

cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem memory, void* mapped, cl_uint waits,
                         Events wait_for, cl_event* event) {
  Launch launch("clEnqueueUnmapMemObject", queue,
                copy(SONDE_COPY_HTOD, "Unmap", memory_bytes(memory)));
  return launch.done(
      next().clEnqueueUnmapMemObject(queue, memory, mapped, waits, wait_for, launch.event(event)));
}

cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint count, const cl_mem* memories,
                           cl_mem_migration_flags flags, cl_uint waits, Events wait_for,
                           cl_event* event) {
  std::size_t bytes = 0;
  for (cl_uint i = 0; memories != nullptr && i < count; ++i) bytes += memory_bytes(memories[i]);
  Launch launch("clEnqueueMigrateMemObjects", queue, copy(SONDE_COPY_UNKNOWN, "Migrate", bytes));
  return launch.done(next().clEnqueueMigrateMemObjects(queue, count, memories, flags, waits,
                                                       wait_for, launch.event(event)));
}

cl_int CL_API_CALL shared_copy(cl_command_queue queue, cl_bool blocking, void* to, const void* from,
                               std::size_t bytes, cl_uint waits, Events wait_for, cl_event* event) {
  Launch launch("clEnqueueSVMMemcpy", queue, copy(SONDE_COPY_UNKNOWN, "Memcpy SVM", bytes));
  return launch.done(next().clEnqueueSVMMemcpy(queue, blocking, to, from, bytes, waits, wait_for,
                                               launch.event(event)));
}

cl_int CL_API_CALL shared_fill(cl_command_queue queue, void* to, const void* pattern,
                               std::size_t pattern_bytes, std::size_t bytes, cl_uint waits,
                               Events wait_for, cl_event* event) {
  Launch launch("clEnqueueSVMMemFill", queue, fill(bytes));
  return launch.done(next().clEnqueueSVMMemFill(queue, to, pattern, pattern_bytes, bytes, waits,
                                                wait_for, launch.event(event)));
}

// An older loader does not have all of them.
template <typename Function>
void replace(Function& theirs, Function ours) {
  if (theirs != nullptr) theirs = ours;
}

}  // namespace

void put_enqueues_into(cl_icd_dispatch& functions) {
  replace(functions.clEnqueueNDRangeKernel, kernel);
  replace(functions.clEnqueueTask, task);
  replace(functions.clEnqueueReadBuffer, read_buffer);
  replace(functions.clEnqueueWriteBuffer, write_buffer);
  replace(functions.clEnqueueCopyBuffer, copy_buffer);
  replace(functions.clEnqueueFillBuffer, fill_buffer);
  replace(functions.clEnqueueReadBufferRect, read_rectangle);
  replace(functions.clEnqueueWriteBufferRect, write_rectangle);
  replace(functions.clEnqueueCopyBufferRect, copy_rectangle);
  replace(functions.clEnqueueReadImage, read_image);
  replace(functions.clEnqueueWriteImage, write_image);
  replace(functions.clEnqueueCopyImage, copy_image);
  replace(functions.clEnqueueCopyImageToBuffer, copy_image_to_buffer);
  replace(functions.clEnqueueCopyBufferToImage, copy_buffer_to_image);
  replace(functions.clEnqueueFillImage, fill_image);
  replace(functions.clEnqueueMapBuffer, map_buffer);
  replace(functions.clEnqueueMapImage, map_image);
  replace(functions.clEnqueueUnmapMemObject, unmap);
  replace(functions.clEnqueueMigrateMemObjects, migrate);
  replace(functions.clEnqueueSVMMemcpy, shared_copy);
  replace(functions.clEnqueueSVMMemFill, shared_fill);
}

}  // namespace sonde::opencl
