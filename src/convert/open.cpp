// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/open.h"

#include <algorithm>
#include <cctype>
#include <thread>
#include <utility>
#include <vector>

#include "convert/execution_trace_read.h"
#include "convert/gunzip.h"
#include "convert/json_bytes.h"
#include "convert/json_text.h"
#include "convert/kineto_read.h"
#include "convert/kineto_read_stretches.h"
#include "convert/pickle.h"
#include "convert/snapshot_read.h"
#include "convert/sqlite_read.h"
#include "trace/block_layout.h"

namespace sonde {

namespace {

bool begins_with(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// What a file that is no trace seems to be; empty if nothing is known about it.
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
      {"\xFF\xFE", "text in UTF-16; UTF-8 is read"},
      {"\xFE\xFF", "text in UTF-16; UTF-8 is read"},
      {"<", "an HTML or XML page"},
  };
  for (const Look& look : kLooks) {
    if (begins_with(text, look.begin)) return look.what;
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
  if (begins_with(rest, "\xEF\xBB\xBF")) rest = without_space(rest.substr(3));
  if (rest.empty()) {
    return Failure(ErrorCode::Invalid,
                   path + (text.empty() ? ": is empty, no trace" : ": holds nothing but spaces"));
  }
  if (rest.front() != '{' && rest.front() != '[') {
    return Failure(ErrorCode::Invalid, path + ": is no trace: it looks like " +
                                           std::string(look_of(rest)) + " at byte " +
                                           std::to_string(rest.data() - text.data()));
  }
  if (looks_like_execution_trace(text)) {
    return Failure(ErrorCode::Invalid,
                   path + ": is an execution trace, which has no times: `sonde et` reads it");
  }
  return read_kineto(text, path, std::move(builder), threads, std::move(early));
}

Result<Trace> read_gzip(const PaddedBytes& file, const std::string& path, unsigned threads) {
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
  if (is_pickle(gunzipped.text.bytes()))
    return read_snapshot(gunzipped.text.bytes(), path, std::move(builder));
  return read_text(gunzipped.text.text(), path, std::move(builder), threads, std::move(readings));
}

}  // namespace

Result<Trace> open_trace(const std::string& path, const OpenOptions& options) {
  SONDE_TRY(PaddedBytes file, PaddedBytes::map_file(path));
  const std::span<const std::uint8_t> bytes = file.bytes();
  if (bytes.size() >= kFileMagic.size() &&
      std::equal(kFileMagic.begin(), kFileMagic.end(), bytes.begin())) {
    return open_sonde(path);
  }
  if (is_sqlite(file.text())) return read_profiler_database(std::move(file), path);
  if (is_gzip(bytes)) return read_gzip(file, path, options.threads);
  if (is_pickle(bytes)) return read_snapshot(bytes, path, TraceBuilder());
  return read_text(file.text(), path, TraceBuilder(), options.threads);
}

}  // namespace sonde
