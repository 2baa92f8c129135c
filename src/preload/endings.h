// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace sonde {

// Before the program's main().
void find_next_endings();

}  // namespace sonde
