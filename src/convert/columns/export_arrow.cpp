// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A folder with an Arrow stream for each table of a trace.

#include "convert/columns/arrow_writer.h"
#include "convert/columns/write_tables.h"
#include "sonde/export.h"

namespace sonde {

Result<void> export_arrow(const Trace& trace, const std::string& folder) {
  return make_folder_whole(folder, [&](const std::string& hidden) {
    return write_tables<ArrowWriter>(trace, hidden, ".arrow");
  });
}

}  // namespace sonde
