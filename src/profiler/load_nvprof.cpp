// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/profile/load_nvprof.h"

#include <utility>

#include "convert/database/read_database.h"

namespace sonde {

Result<EventList> load_nvprof(const std::string& path) {
  SONDE_TRY(PaddedBytes bytes, PaddedBytes::map_file(path));
  if (!is_sqlite(bytes.text())) {
    return Failure(ErrorCode::Invalid, path + ": is not an nvprof database");
  }
  SONDE_TRY(const Trace trace, read_nvprof_database(std::move(bytes), path));
  return function_events(trace);
}

}  // namespace sonde
