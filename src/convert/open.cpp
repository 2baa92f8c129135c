// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/open.h"

#include <algorithm>
#include <cctype>
#include <thread>
#include <utility>
#include <vector>

#include "convert/database/read_database.h"
#include "convert/execution_trace/read_nodes.h"
#include "convert/gunzip.h"
#include "convert/json/json_bytes.h"
#include "convert/json/json_text.h"
#include "convert/kineto/read/read_kineto.h"
#include "convert/kineto/read/stretches.h"
#include "convert/open_file.h"
#include "convert/snapshot/pickle.h"
#include "convert/snapshot/read_snapshot.h"
#include "decode/open_sonde.h"
#include "file/block_layout.h"

namespace sonde {

namespace {

// What a file that is not a trace seems to be; empty if nothing is known about it.
std::string_view look_of(std::string_view text) {
  struct Look {
    std::string_view begin;
    std::string_view what;
  };
  static constexpr Look kLooks[] = {
      {"SQLite format 3", "an SQLite database"},
      {"PK\x03\x04", "a zip archive"},
      {"\x28\xB5\x2F\xFD", "data compressed with zstd"},
      {"\xFD"
       "7zXZ",
       "data compressed with xz"},
      {"BZh", "data compressed with bzip2"},
      {"\x7F"
       "ELF",
       "a program"},
      {"\x89PNG", "a picture"},
      {"%PDF", "a PDF document"},
      {"\xFF\xFE", "text in UTF-16 (Sonde reads UTF-8)"},
      {"\xFE\xFF", "text in UTF-16 (Sonde reads UTF-8)"},
      {"<", "an HTML or XML page"},
  };
  for (const Look& look : kLooks) {
    if (text.starts_with(look.begin)) return look.what;
  }
  const std::string_view head = text.substr(0, 512);
  const bool is_binary = std::any_of(head.begin(), head.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && std::isspace(static_cast<unsigned char>(c)) == 0;
  });
  return is_binary ? "binary data" : "text that is not JSON";
}

std::string_view without_space(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

Result<Trace> read_text(std::string_view text, const std::string& path, TraceBuilder builder,
                        unsigned threads, std::vector<Reading> early = {}) {
  std::string_view rest = without_space(text);
  if (rest.starts_with("\xEF\xBB\xBF")) rest = without_space(rest.substr(3));
  if (rest.empty()) {
    return Failure(ErrorCode::Invalid,
                   path + (text.empty() ? ": is empty" : ": contains only white space"));
  }
  if (rest.front() != '{' && rest.front() != '[') {
    return Failure(ErrorCode::Invalid, path + ": not a trace; it looks like " +
                                           std::string(look_of(rest)) + " at byte " +
                                           std::to_string(rest.data() - text.data()));
  }
  if (looks_like_execution_trace(text)) {
    return Failure(ErrorCode::Invalid,
                   path + ": is an execution trace, which has no times; open it with `sonde et`");
  }
  return read_kineto(text, path, std::move(builder), threads, std::move(early));
}

Result<OpenedFile> opened(Result<Trace> trace, FileFormat format, std::size_t bytes) {
  if (!trace) return Failure(std::move(trace).error());
  return OpenedFile{.trace = *std::move(trace), .format = format, .bytes = bytes};
}

Result<OpenedFile> read_gzip(const PaddedBytes& file, const std::string& path, unsigned threads) {
  EarlyStretches early(threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency()));
  SONDE_TRY(const Gunzipped gunzipped, gunzip(file.bytes(), &early));
  std::vector<Reading> readings = early.finish(gunzipped.text.text());
  TraceBuilder builder;
  if (!gunzipped.problem.empty()) {
    if (gunzipped.text.text().empty()) {
      return Failure(ErrorCode::Corrupt, path + ": " + gunzipped.problem);
    }
    builder.add_ledger(gunzipped.truncated ? LedgerKind::Truncated : LedgerKind::DamagedBytes,
                       gunzipped.truncated ? 1 : gunzipped.lost_bytes, path, gunzipped.problem);
  }
  if (is_pickle(gunzipped.text.bytes())) {
    return opened(read_snapshot(gunzipped.text.bytes(), path, std::move(builder)),
                  FileFormat::Snapshot, file.bytes().size());
  }
  return opened(
      read_text(gunzipped.text.text(), path, std::move(builder), threads, std::move(readings)),
      FileFormat::Json, file.bytes().size());
}

bool is_sonde(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= kFileMagic.size() &&
         std::equal(kFileMagic.begin(), kFileMagic.end(), bytes.begin());
}

Result<OpenedFile> read_sonde(const PaddedBytes& bytes, const std::string& path) {
  SONDE_TRY(BlockFile file, BlockFile::parse(bytes.bytes(), path));
  SONDE_TRY(Trace trace, read_growing_trace(file));
  return OpenedFile{.trace = std::move(trace),
                    .format = FileFormat::Sonde,
                    .bytes = file.file_bytes(),
                    .version = file.version(),
                    .sealed = file.sealed()};
}

}  // namespace

Result<OpenedFile> open_file(const std::string& path, const OpenOptions& options) {
  SONDE_TRY(PaddedBytes file, PaddedBytes::map_file(path));
  const std::span<const std::uint8_t> bytes = file.bytes();
  const std::size_t size = bytes.size();
  if (is_sonde(bytes)) return read_sonde(file, path);
  if (is_sqlite(file.text()))
    return opened(read_profiler_database(std::move(file), path), FileFormat::Database, size);
  if (is_gzip(bytes)) return read_gzip(file, path, options.threads);
  if (is_pickle(bytes))
    return opened(read_snapshot(bytes, path, TraceBuilder()), FileFormat::Snapshot, size);
  return opened(read_text(file.text(), path, TraceBuilder(), options.threads), FileFormat::Json,
                size);
}

Result<Trace> open_trace(const std::string& path, const OpenOptions& options) {
  SONDE_TRY(OpenedFile file, open_file(path, options));
  return std::move(file.trace);
}

}  // namespace sonde
