// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde::torch {

// The number of a native stack, return addresses with the innermost first; our own frames at its
// inner end are left out. Takes a lock and finds out in which binary each address lies: for stacks
// that were not seen before.
std::uint32_t native_stack(void* const* addresses, std::size_t count);

}  // namespace sonde::torch
