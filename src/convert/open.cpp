// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/open.h"

namespace sonde {

Result<Trace> open_trace(const std::string& path, const OpenOptions& /*options*/) {
  return open_sonde(path);
}

}  // namespace sonde
