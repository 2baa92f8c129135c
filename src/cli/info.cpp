// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde info`: what is in a trace, what was lost, what recording cost.

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

#include "cli/commands.h"
#include "cli/info_report.h"
#include "cli/progress.h"
#include "convert/sqlite_read.h"
#include "sonde/open.h"
#include "trace/block_file.h"

namespace sonde::cli {
namespace {

bool begins_as_database(const std::string& path) {
  char begin[16] = {};
  std::ifstream(path, std::ios::binary).read(begin, sizeof(begin));
  return is_sqlite({begin, sizeof(begin)});
}

// Of a file that open_trace() took.
FileFacts look_at_file(const std::string& path, const TraceFacts& facts) {
  if (const Result<BlockFile> blocks = BlockFile::open(path)) {
    return {.path = path,
            .bytes = blocks->file_bytes(),
            .version = blocks->version(),
            .complete = blocks->sealed() && blocks->damage().empty()};
  }
  std::error_code ignored;
  return {.path = path,
          .bytes = std::filesystem::file_size(path, ignored),
          .version = std::nullopt,
          .is_database = begins_as_database(path),
          .complete = !facts.ledger.contains(LedgerKind::Truncated) &&
                      !facts.ledger.contains(LedgerKind::DamagedBytes)};
}

Result<InfoReport> make_report(const std::string& path) {
  const Progress progress("opening " + path);
  SONDE_TRY(Trace trace, open_trace(path));
  TraceFacts facts = gather_facts(trace);
  FileFacts file = look_at_file(path, facts);
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
