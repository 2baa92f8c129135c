// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde info`: what is in a trace, what was lost, what recording cost.

#include <string>

#include "cli/commands.h"
#include "cli/info_report.h"
#include "cli/progress.h"
#include "trace/block_file.h"

namespace sonde::cli {
namespace {

Result<FileFacts> look_at_file(const std::string& path) {
  SONDE_TRY(const BlockFile blocks, BlockFile::open(path));
  return FileFacts{.path = path,
                   .bytes = blocks.file_bytes(),
                   .version = blocks.version(),
                   .complete = blocks.sealed() && blocks.damage().empty()};
}

Result<InfoReport> make_report(const std::string& path) {
  const Progress progress("opening " + path);
  SONDE_TRY(FileFacts file, look_at_file(path));
  SONDE_TRY(Trace trace, open_sonde(path));
  TraceFacts facts = gather_facts(trace);
  return InfoReport{std::move(file), std::move(trace), std::move(facts)};
}

}  // namespace

Result<void> run_info(const InfoOptions& options, Output& out) {
  SONDE_TRY(const InfoReport report, make_report(options.file));
  if (options.json) {
    write_info_json(report, out);
  } else {
    write_info_text(report, out);
  }
  return {};
}

}  // namespace sonde::cli
