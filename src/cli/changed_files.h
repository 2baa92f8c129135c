// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace sonde::cli {

// Files are mapped for reading. If a file is truncated meanwhile, for example by `cp` over it, its
// bytes disappear. From here on, that ends the program with status 1 and a message.
void end_if_files_change();

}  // namespace sonde::cli
