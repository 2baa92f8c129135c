// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde info`: what is in a trace, what was lost, what recording cost.

#include <string>
#include <utility>

#include "cli/answer/info_report.h"
#include "cli/commands.h"
#include "cli/print/progress.h"
#include "convert/open_file.h"

namespace sonde::cli {
namespace {

// Also correct for a file that `sonde run` has completed, because the ledger says so.
bool is_complete(const TraceFacts& facts) {
  return !facts.ledger.contains(LedgerKind::Truncated) &&
         !facts.ledger.contains(LedgerKind::DamagedBytes);
}

Result<InfoReport> make_report(const InfoOptions& options) {
  const Progress progress("opening " + options.file);
  SONDE_TRY(const std::string path, on_disk(options.file));
  SONDE_TRY(OpenedFile file, open_file(path, options.open));
  if (options.check) (void)file.trace.tables();
  TraceFacts facts = gather_facts(file.trace);
  return InfoReport{.path = options.file,
                    .complete = is_complete(facts),
                    .file = std::move(file),
                    .facts = std::move(facts)};
}

}  // namespace

Result<void> run_info(const InfoOptions& options, Output& out) {
  SONDE_TRY(const InfoReport report, make_report(options));
  if (options.format == Format::Json) {
    write_info_json(report, out);
  } else {
    write_info_text(report, out);
  }
  return {};
}

}  // namespace sonde::cli
