// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Makes an empty struct of sonde/source/device.h or sonde/source/op.h with its size filled in.
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
