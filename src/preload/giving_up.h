// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace sonde {

// Call it before the program's main().
void find_next_prctl();

}  // namespace sonde
