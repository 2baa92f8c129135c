// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What exports say where the library that they need was not there to build with.

#include "sonde/export.h"

namespace sonde {

#if !SONDE_HAS_SQLITE
Result<void> export_sqlite(const Trace& /*trace*/, const std::string& path) {
  return Failure(
      ErrorCode::Unsupported,
      path + ": this Sonde was built without SQLite; install libsqlite3-dev and build again");
}
#endif

#if !SONDE_HAS_PROTOZERO
Result<void> export_pprof(const Trace& /*trace*/, const std::string& path) {
  return Failure(ErrorCode::Unsupported, path +
                                             ": this Sonde was built without protozero; install "
                                             "libprotozero-dev and build again");
}
#endif

}  // namespace sonde
