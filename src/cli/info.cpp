// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde info`: what is in a trace, what was lost, what recording cost.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include "cli/commands.h"
#include "cli/info_report.h"
#include "cli/progress.h"
#include "convert/gunzip.h"
#include "convert/json_bytes.h"
#include "convert/pickle.h"
#include "convert/sqlite_read.h"
#include "sonde/open.h"
#include "trace/block_file.h"

namespace sonde::cli {
namespace {

OtherFormat format_of(const std::string& path) {
  const Result<PaddedBytes> file = PaddedBytes::map_file(path);
  if (!file) return OtherFormat::Json;
  if (is_sqlite(file->text())) return OtherFormat::Database;
  std::span<const std::uint8_t> bytes = file->bytes();
  std::optional<Gunzipped> begin;
  if (is_gzip(bytes)) {
    constexpr std::size_t kEnough = 4096;
    Result<Gunzipped> some = gunzip(bytes.first(std::min(bytes.size(), kEnough)));
    if (some) bytes = begin.emplace(*std::move(some)).text.bytes();
  }
  return is_pickle(bytes) ? OtherFormat::Snapshot : OtherFormat::Json;
}

// Also of a file that `sonde run` has made whole: the ledger remembers.
bool is_complete(const TraceFacts& facts) {
  return !facts.ledger.contains(LedgerKind::Truncated) &&
         !facts.ledger.contains(LedgerKind::DamagedBytes);
}

// Of a file that open_trace() took.
FileFacts look_at_file(const std::string& path, const TraceFacts& facts) {
  if (const Result<BlockFile> blocks = BlockFile::open(path)) {
    return {.path = path,
            .bytes = blocks->file_bytes(),
            .version = blocks->version(),
            .complete = is_complete(facts)};
  }
  std::error_code ignored;
  return {.path = path,
          .bytes = std::filesystem::file_size(path, ignored),
          .version = std::nullopt,
          .other_format = format_of(path),
          .complete = is_complete(facts)};
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
