// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The parts of the page, as they were built from viewer/.

#include <string>

namespace sonde::detail {

std::string viewer_script();
std::string viewer_style();
// The page that loads the other two from where it came from.
std::string viewer_page();

}  // namespace sonde::detail
