// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What Sonde asks the CUDA driver itself, through the library that the process has loaded.

#include <cstdint>

#include "sonde/source/device.h"

namespace sonde::cuda {

// Whether there is a driver at all; opens it.
bool driver_is_there();

// Waits for all work of the devices that the process uses. Nothing on errors.
void synchronize_devices();

// As cuDriverGetVersion counts: 13000 for 13.0; 0 if it does not say.
int driver_version();

// Fills all but the number of the name, which is written to `name` as text; false if the device
// does not answer.
bool device_properties(std::int16_t index, sonde_device_properties& device, char* name,
                       std::size_t name_bytes);

}  // namespace sonde::cuda
