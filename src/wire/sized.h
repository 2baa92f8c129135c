// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// An empty struct of sonde/source/device.h or sonde/source/op.h that says how large it is.
//
//   auto span = sized<sonde_device_span>();

#include <cstdint>

namespace sonde {

template <typename T>
T sized() {
  T made = {};
  made.size = static_cast<std::uint32_t>(sizeof(T));
  return made;
}

}  // namespace sonde
