// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Tests that try every bit of a file take minutes under a sanitizer. They try some of the bits,
// spread over the whole file, unless SONDE_DEEP is set, as in `tools/test --deep`.
//
//   for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += deep_or(1U, 7U)) …

#include <cstdlib>

namespace sonde::testing {

template <typename Number>
Number deep_or(Number deep, Number otherwise) {
  return ::getenv("SONDE_DEEP") != nullptr ? deep : otherwise;
}

}  // namespace sonde::testing
