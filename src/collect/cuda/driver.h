// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What Sonde asks the CUDA driver itself, through the library that the process has loaded.

#include <cstdint>

#include "sonde/source/device.h"

namespace sonde::cuda {

// Whether there is a driver. Opens it.
bool driver_is_there();

// Waits for all work of the devices that the process uses. Does nothing on errors.
void synchronize_devices();

// As cuDriverGetVersion counts: 13000 for 13.0; 0 if it is unknown.
int driver_version();

// Fills everything except the name's number; the name is written to `name` as text. False if the
// device does not answer.
bool device_properties(std::int16_t index, sonde_device_properties& device, char* name,
                       std::size_t name_bytes);

}  // namespace sonde::cuda
