// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What somebody may have meant who made a typing error.
//
//   nearest("inof", {"info", "run"}) == "info"

#include <string>
#include <string_view>
#include <vector>

namespace sonde::cli {

// The known word with the fewest letters changed, added, left out or swapped with their neighbour;
// at most two, and fewer than half of the word's letters. Empty: none is so near.
std::string nearest(std::string_view given, const std::vector<std::string>& known);

}  // namespace sonde::cli
