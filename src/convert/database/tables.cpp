// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/tables.h"

#include <algorithm>
#include <string>

namespace sonde {

namespace {

// Nanoseconds since the epoch stay below this, and no sum or difference of two times overflows.
constexpr Nanos kLatest = Nanos{1} << 61;

bool is_sensible(Nanos time) {
  return time > -kLatest && time < kLatest;
}

}  // namespace

Result<void> SqliteTables::read(std::string_view table, const std::vector<const char*>& columns,
                                std::size_t required, const Visit& visit) {
  if (database_.has_other(table)) return database_.lacks(table);
  if (!database_.has(table)) return {};
  read_.emplace_back(table);
  Result<SqliteRows> found = database_.rows(table, columns, required);
  if (!found && !database_.is_damaged()) return Failure(std::move(found).error());
  if (!found) {
    note_damage(table, found.error().message);
    return {};
  }
  SqliteRows& rows = *found;
  std::uint64_t undecodable = 0;
  while (rows.next()) undecodable += visit(rows) ? 0U : 1U;
  if (undecodable > 0) {
    builder_.add_ledger(LedgerKind::Undecodable, undecodable, table,
                        "rows of " + std::string(table) + " with invalid values");
  }
  if (!rows.problem().empty()) {
    note_damage(table, std::string(table) + " ends early, after " +
                           std::to_string(rows.rows_read()) + " rows: " + rows.problem());
  }
  return {};
}

// Counts 1, because the number of bytes is unknown.
void SqliteTables::note_damage(std::string_view table, std::string_view what) {
  builder_.add_ledger(LedgerKind::DamagedBytes, 1, table, what);
}

void SqliteTables::note_unread(const std::function<bool(std::string_view)>& is_known) {
  constexpr std::size_t kMostNotes = 100;
  std::size_t notes = 0;
  for (const std::string& table : database_.tables()) {
    const bool was_read = std::find(read_.begin(), read_.end(), table) != read_.end();
    if (was_read || is_known(table) || notes == kMostNotes) continue;
    Result<SqliteRows> rows = database_.rows(table, {});
    if (rows && !rows->next() && rows->problem().empty()) continue;
    builder_.add_ledger(LedgerKind::Note, 1, table, "the table " + table + " is not read");
    ++notes;
  }
}

std::optional<Nanos> SqliteTables::time(const SqliteRows& row, std::size_t column) const {
  const std::optional<std::int64_t> time = row.integer(column);
  if (!time || !is_sensible(*time)) return std::nullopt;
  return *time + base_ns_;
}

std::optional<When> SqliteTables::when(const SqliteRows& row, std::size_t start) const {
  const std::optional<Nanos> from = time(row, start);
  const std::optional<Nanos> to = time(row, start + 1);
  if (!from || !to || *to < *from) return std::nullopt;
  return When{*from, *to};
}

StringId SqliteTables::name(std::int64_t number) {
  const auto [found, is_new] = names_.try_emplace(number, StringId());
  if (is_new) found->second = builder_.intern("(string " + std::to_string(number) + ")");
  return found->second;
}

ProcessId SqliteTables::process(std::int64_t pid) {
  const auto [found, is_new] = processes_.try_emplace(pid, ProcessId());
  if (is_new) {
    ProcessRow row;
    row.pid = pid;
    found->second = builder_.processes().push_back(row);
  }
  return found->second;
}

TrackId SqliteTables::thread(std::int64_t pid, std::int64_t tid) {
  const auto [found, is_new] = threads_.try_emplace({pid, tid}, TrackId());
  if (is_new) {
    TrackRow row;
    row.process = process(pid);
    row.id = tid;
    found->second = builder_.tracks().push_back(row);
  }
  return found->second;
}

TrackId SqliteTables::stream(std::int64_t pid, std::int64_t device, std::int64_t context,
                             std::int64_t stream) {
  const bool is_whole = stream == kNoStream || stream < 0;
  if (is_whole) context = stream = -1;
  const auto [found, is_new] = streams_.try_emplace({pid, device, context, stream}, TrackId());
  if (is_new) {
    TrackRow row;
    row.process = process(pid);
    row.kind = is_whole ? TrackKind::Device : TrackKind::Stream;
    row.id = is_whole ? 0 : stream;
    row.context = context;
    if (device >= 0 && device <= INT32_MAX) row.device_index = static_cast<std::int32_t>(device);
    found->second = builder_.tracks().push_back(row);
  }
  return found->second;
}

void SqliteTables::keep_extra(SpanId span, std::string_view key, std::string_view json) {
  ExtraRow row;
  row.of_table = TableKind::Spans;
  row.of_row = span.value();
  row.key = builder_.intern(key);
  row.value = builder_.intern(json);
  builder_.extras().push_back(row);
}

}  // namespace sonde
