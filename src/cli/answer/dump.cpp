// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde dump`: everything in a trace, as readable text.

#include "trace/dump.h"

#include <string_view>

#include "cli/commands.h"
#include "sonde/trace.h"

namespace sonde::cli {
Result<void> run_dump(const DumpOptions& options, Output& out) {
  SONDE_TRY(const Trace trace, open_with_progress(options.file, options.open));
  dump_text(trace, [&](std::string_view line) {
    out.line(line);
    return out.ok();
  });
  return {};
}

}  // namespace sonde::cli
