// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/open.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/file_stamp.h"
#include "convert/database/read_database.h"
#include "convert/execution_trace/read_nodes.h"
#include "convert/gunzip.h"
#include "convert/json/json_begin.h"
#include "convert/json/json_bytes.h"
#include "convert/json/json_text.h"
#include "convert/kineto/read/read_kineto.h"
#include "convert/kineto/read/stretches.h"
#include "convert/open_file.h"
#include "convert/size_limits.h"
#include "convert/snapshot/pickle.h"
#include "convert/snapshot/read_snapshot.h"
#include "decode/open_sonde.h"
#include "file/block_layout.h"

namespace sonde {

namespace {

Result<Trace> read_text(std::string_view text, const std::string& path, TraceBuilder builder,
                        unsigned threads, std::vector<Reading> early = {}) {
  if (json_begin(text).empty()) {
    return Failure(ErrorCode::Invalid,
                   path + (text.empty() ? ": is empty" : ": contains only white space"));
  }
  if (const Result<void> looked = check_json_begin(text); !looked)
    return Failure(looked.error().code, path + ": " + looked.error().message);
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

// Judges the beginning before the rest takes memory.
Result<bool> is_worth_reading(std::string_view begin) {
  if (is_pickle({reinterpret_cast<const std::uint8_t*>(begin.data()), begin.size()})) return true;
  return may_be_json(begin);
}

Result<OpenedFile> read_gzip(const PaddedBytes& file, const std::string& path,
                             const OpenOptions& options) {
  const unsigned threads =
      options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  Result<Gunzipped> read = Failure(ErrorCode::Invalid, {});
  EarlyStretches early(threads, ReadText::IsGivenBack);  // ends before the text that it reads
  const InflateBounds bounds = {.most_bytes = most_inflated(file.bytes().size(), options),
                                .judge = is_worth_reading};
  read = gunzip(file.bytes(), &early, bounds);
  // The size in the file was wrong, and too much was read when that became known.
  if (!read && early.gave_back()) read = gunzip(file.bytes(), nullptr, bounds);
  if (!read) return Failure(read.error().code, path + ": " + read.error().message);
  const Gunzipped& gunzipped = *read;
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
    return opened(read_snapshot(gunzipped.text.bytes(), path, std::move(builder),
                                most_taken_by_pickle(file.bytes().size(), options)),
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

Result<OpenedFile> read_sonde(PaddedBytes bytes, const std::string& path,
                              const OpenOptions& options) {
  const auto kept = std::make_shared<const PaddedBytes>(std::move(bytes));
  SONDE_TRY(BlockFile file, BlockFile::parse(kept->bytes(), path));
  SONDE_TRY_VOID(check_size(file, options));
  if (!options.limit_size) file.lift_size_limits();
  const bool is_all = options.part.is_all();
  const ReadFor purpose = !options.for_operator_table ? ReadFor::Everything
                          : options.without_inputs    ? ReadFor::TableByName
                                                      : ReadFor::OperatorTable;
  Result<Trace> trace =
      is_all ? read_trace_lazily(file, kept, purpose) : read_trace_part(file, options.part);
  if (!trace && !is_all) return Failure(trace.error().code, path + ": " + trace.error().message);
  if (!trace) return Failure(std::move(trace).error());
  return OpenedFile{.trace = *std::move(trace),
                    .format = FileFormat::Sonde,
                    .bytes = file.file_bytes(),
                    .version = file.version(),
                    .sealed = file.sealed()};
}

}  // namespace

namespace {

Result<OpenedFile> read_any(const std::string& path, const OpenOptions& options) {
  SONDE_TRY(PaddedBytes file, PaddedBytes::map_file(path));
  const std::span<const std::uint8_t> bytes = file.bytes();
  const std::size_t size = bytes.size();
  if (is_sonde(bytes)) return read_sonde(std::move(file), path, options);
  if (is_sqlite(file.text()))
    return opened(read_profiler_database(std::move(file), path), FileFormat::Database, size);
  if (is_gzip(bytes)) return read_gzip(file, path, options);
  if (is_pickle(bytes))
    return opened(read_snapshot(bytes, path, TraceBuilder(), most_taken_by_pickle(size, options)),
                  FileFormat::Snapshot, size);
  return opened(read_text(file.text(), path, TraceBuilder(), options.threads), FileFormat::Json,
                size);
}

Result<OpenedFile> take_part(Result<OpenedFile> file, const std::string& path,
                             const TracePart& part) {
  if (!file || part.is_all() || file->format == FileFormat::Sonde) return file;
  Result<Trace> taken = part_of(file->trace, part);
  if (!taken) return Failure(taken.error().code, path + ": " + taken.error().message);
  file->trace = *std::move(taken);
  return file;
}

}  // namespace

// Only a recording may grow while it is read.
Result<OpenedFile> open_file(const std::string& path, const OpenOptions& options) {
  const FileStamp before(path);
  Result<OpenedFile> file = take_part(read_any(path, options), path, options.part);
  const bool may_grow = file && !file->is_whole();
  if (may_grow || !before.was_written()) return file;
  return Failure(changed_while_read(path));
}

Error changed_while_read(const std::string& path) {
  return {ErrorCode::Io,
          path + ": changed while it was being read; wait until it is complete, and try again"};
}

Result<Trace> open_trace(const std::string& path, const OpenOptions& options) {
  SONDE_TRY(OpenedFile file, open_file(path, options));
  return std::move(file.trace);
}

}  // namespace sonde
