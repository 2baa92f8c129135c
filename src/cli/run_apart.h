// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Work whose failure must not become ours: it runs in a process of its own, which may run out of
// memory, crash, or be killed.

#include <functional>
#include <string>

namespace sonde::cli {

// Why it did not come to its end; empty if it did. What `work` changes in memory is not seen here.
std::string run_apart(const std::function<void()>& work);

}  // namespace sonde::cli
