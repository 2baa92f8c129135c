// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// An adapter is the library that records libtorch. Each version and C++ ABI of libtorch needs its
// own, because the adapter reads libtorch's internal data. It exports `int
// sonde_adapter_attach(void)`.

#include <string>
#include <vector>

#include "sonde/result.h"

namespace sonde {

// Opens the first of `paths` that links the torch libraries that the process has loaded, and
// attaches it. The others are not opened, because they would load a second libtorch.
Result<void> attach_adapter(const std::vector<std::string>& paths,
                            const std::string& torch_library);

// Opens a library that exports the same function, whatever it records.
Result<void> attach_library(const std::string& path);

}  // namespace sonde
