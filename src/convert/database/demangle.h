// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Readable names of C++ functions from an untrusted file. A few bytes of a mangled name can expand
// to a text that fills the memory, because its parts refer to each other.

#include <cstddef>
#include <string>

namespace sonde {

class BoundedDemangler {
 public:
  // Returns the name unchanged if it is not mangled, if it refers to its own parts too often, or if
  // all names so far have become too long together.
  std::string operator()(const std::string& name);

 private:
  std::size_t bytes_left_ = std::size_t{16} << 20;
};

}  // namespace sonde
