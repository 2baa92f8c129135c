// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace sonde::cli {

// Files are read by mapping them, and one that is cut meanwhile, as `cp` over it does, has no bytes
// where there were some. From here on that ends the program with status 1 and a sentence.
void end_if_files_change();

}  // namespace sonde::cli
