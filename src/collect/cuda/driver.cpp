// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/cuda/driver.h"

#include <dlfcn.h>

#include "wire/sized.h"

namespace sonde::cuda {
namespace {

constexpr const char* kDriver = "libcuda.so.1";

// CUdevice is an int, CUcontext a pointer; CUresult is 0 on success.
template <typename Function>
Function find(const char* name) {
  static void* const library = ::dlopen(kDriver, RTLD_LAZY | RTLD_NOLOAD);
  return library != nullptr ? reinterpret_cast<Function>(::dlsym(library, name)) : nullptr;
}

struct Attribute {
  int number;  // the CUdevice_attribute
  std::uint32_t sonde_device_properties::* member;
};
constexpr Attribute kAttributes[] = {
    {1, &sonde_device_properties::max_threads_per_block},
    {8, &sonde_device_properties::shared_bytes_per_block},
    {10, &sonde_device_properties::warp_size},
    {12, &sonde_device_properties::registers_per_block},
    {13, &sonde_device_properties::clock_khz},
    {16, &sonde_device_properties::multiprocessors},
    {36, &sonde_device_properties::memory_clock_khz},
    {37, &sonde_device_properties::memory_bus_bits},
    {39, &sonde_device_properties::max_threads_per_multiprocessor},
    {75, &sonde_device_properties::compute_major},
    {76, &sonde_device_properties::compute_minor},
    {81, &sonde_device_properties::shared_bytes_per_multiprocessor},
    {82, &sonde_device_properties::registers_per_multiprocessor},
    {97, &sonde_device_properties::shared_bytes_per_block_optin},
};

}  // namespace

bool driver_is_there() {
  return ::dlopen(kDriver, RTLD_LAZY) != nullptr;
}

void synchronize_devices() {
  const auto count_devices = find<int (*)(int*)>("cuDeviceGetCount");
  const auto state_of = find<int (*)(int, unsigned*, int*)>("cuDevicePrimaryCtxGetState");
  const auto retain = find<int (*)(void**, int)>("cuDevicePrimaryCtxRetain");
  const auto release = find<int (*)(int)>("cuDevicePrimaryCtxRelease_v2");
  const auto push = find<int (*)(void*)>("cuCtxPushCurrent_v2");
  const auto pop = find<int (*)(void**)>("cuCtxPopCurrent_v2");
  const auto synchronize = find<int (*)()>("cuCtxSynchronize");
  if (count_devices == nullptr || state_of == nullptr || retain == nullptr || release == nullptr ||
      push == nullptr || pop == nullptr || synchronize == nullptr)
    return;
  int count = 0;
  if (count_devices(&count) != 0) return;
  for (int device = 0; device < count; ++device) {
    unsigned flags = 0;
    int active = 0;
    if (state_of(device, &flags, &active) != 0 || active == 0) continue;
    void* context = nullptr;
    if (retain(&context, device) != 0) continue;
    if (push(context) == 0) {
      synchronize();
      pop(&context);
    }
    release(device);
  }
}

int driver_version() {
  int version = 0;
  const auto get_version = find<int (*)(int*)>("cuDriverGetVersion");
  return get_version != nullptr && get_version(&version) == 0 ? version : 0;
}

bool device_properties(std::int16_t index, sonde_device_properties& device, char* name,
                       std::size_t name_bytes) {
  const auto get_device = find<int (*)(int*, int)>("cuDeviceGet");
  const auto get_name = find<int (*)(char*, int, int)>("cuDeviceGetName");
  const auto get_memory = find<int (*)(std::size_t*, int)>("cuDeviceTotalMem_v2");
  const auto get_attribute = find<int (*)(int*, int, int)>("cuDeviceGetAttribute");
  int handle = 0;
  if (get_device == nullptr || get_name == nullptr || get_memory == nullptr ||
      get_attribute == nullptr || get_device(&handle, index) != 0 ||
      get_name(name, static_cast<int>(name_bytes), handle) != 0)
    return false;
  device = sized<sonde_device_properties>();
  device.type = SONDE_DEVICE_CUDA;
  device.index = index;
  std::size_t bytes = 0;
  if (get_memory(&bytes, handle) == 0) device.total_memory_bytes = bytes;
  for (const Attribute& attribute : kAttributes) {
    int value = 0;
    if (get_attribute(&value, attribute.number, handle) == 0 && value > 0)
      device.*attribute.member = static_cast<std::uint32_t>(value);
  }
  return true;
}

}  // namespace sonde::cuda
