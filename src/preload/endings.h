// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace sonde {

// Before the program's main(); `has_agent`: one may come into this process.
void look_after_endings(bool has_agent);

}  // namespace sonde
