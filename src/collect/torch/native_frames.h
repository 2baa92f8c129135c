// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde::torch {

// The number of a native stack: return addresses, innermost first, without Sonde's own frames at
// the inner end. Takes a lock and looks up the binary of each address, so call it only for stacks
// that were not seen before.
std::uint32_t native_stack(void* const* addresses, std::size_t count);

}  // namespace sonde::torch
