// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Runs work whose failure must not affect us in a process of its own, which may run out of memory,
// crash, or be killed.

#include <functional>
#include <string>

namespace sonde::cli {

// Returns why it did not finish; empty if it did. Changes that `work` makes in memory are not
// visible here.
std::string run_apart(const std::function<void()>& work);

}  // namespace sonde::cli
