// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// An adapter is the library that records libtorch: one for each version and C++ ABI of it, since
// both are part of the layout it reads. It exports `int sonde_adapter_attach(void)`.

#include <string>
#include <vector>

#include "sonde/result.h"

namespace sonde {

// Opens the first of `paths` whose libraries of torch are those that the process has loaded, and
// attaches it. The others are not even opened: they would bring a second libtorch with them.
Result<void> attach_adapter(const std::vector<std::string>& paths,
                            const std::string& torch_library);

// Opens a library that exports the same function, whatever it records.
Result<void> attach_library(const std::string& path);

}  // namespace sonde
