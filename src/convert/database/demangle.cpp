// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/demangle.h"

#include <algorithm>

#include "base/cpp_names.h"

namespace sonde {

std::string BoundedDemangler::operator()(const std::string& name) {
  if (bytes_left_ == 0) return name;
  std::string text = demangled(name);
  if (text != name) bytes_left_ -= std::min(bytes_left_, text.size());
  return text;
}

}  // namespace sonde
