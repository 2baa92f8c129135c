// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sonde::torch {

// The numbers of native frames, for sonde_stack: return addresses, innermost first, without Sonde's
// own frames at the inner end. Empty if nothing records. Takes a lock and looks up the binary of
// each address, so call it only for stacks that were not seen before.
std::vector<std::uint32_t> native_frames(void* const* addresses, std::size_t count);

// The number of the stack of these frames.
std::uint32_t native_stack(void* const* addresses, std::size_t count);

}  // namespace sonde::torch
