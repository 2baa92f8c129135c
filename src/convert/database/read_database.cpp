// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/read_database.h"

#if SONDE_HAS_SQLITE
#include <filesystem>
#include <system_error>
#include <vector>

#include "convert/database/database.h"
#include "convert/database/read_nsys.h"
#include "convert/database/read_nvprof.h"
#endif

namespace sonde {

bool is_sqlite(std::string_view bytes) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  return bytes.starts_with(kMagic);
}

#if SONDE_HAS_SQLITE

namespace {

// Sets what the reader of the tables cannot know.
TraceBuilder begin_trace(const SqliteDatabase& database) {
  TraceBuilder builder;
  if (database.is_damaged()) {
    builder.add_ledger(LedgerKind::Truncated, 1, database.name(),
                       "the database is truncated or damaged; Sonde reads what is left");
  }
  std::error_code ignored;
  const std::uintmax_t log_bytes = std::filesystem::file_size(database.name() + "-wal", ignored);
  if (database.has_write_ahead_log() && !ignored && log_bytes > 0) {
    builder.add_ledger(LedgerKind::Note, 1, database.name(),
                       "changes still in " + database.name() + "-wal are not read");
  }
  return builder;
}

Failure is_no_profile(const SqliteDatabase& database) {
  constexpr std::size_t kMostNames = 8;
  std::string names;
  const std::vector<std::string> tables = database.tables();
  for (std::size_t i = 0; i < tables.size() && i < kMostNames; ++i) {
    names += (i == 0 ? "" : ", ") + tables[i].substr(0, 64);
  }
  if (tables.size() > kMostNames) names += ", …";
  return Failure(ErrorCode::Invalid,
                 database.name() +
                     ": is an SQLite database, but not from nvprof (StringTable, "
                     "CUPTI_ACTIVITY_KIND_…) or Nsight Systems (StringIds, NVTX_EVENTS, …); " +
                     (names.empty() ? "it has no tables" : "its tables are " + names));
}

}  // namespace

Result<Trace> read_profiler_database(PaddedBytes bytes, const std::string& name) {
  SONDE_TRY(SqliteDatabase database, SqliteDatabase::over(std::move(bytes), name));
  if (is_nvprof(database)) return read_nvprof(database, begin_trace(database));
  if (is_nsys(database)) return read_nsys(database, begin_trace(database));
  return is_no_profile(database);
}

Result<Trace> read_nvprof_database(PaddedBytes bytes, const std::string& name) {
  SONDE_TRY(SqliteDatabase database, SqliteDatabase::over(std::move(bytes), name));
  if (!is_nvprof(database)) {
    return Failure(ErrorCode::Invalid, name + ": is not an nvprof database");
  }
  for (const char* table : {"CUPTI_ACTIVITY_KIND_MARKER", "CUPTI_ACTIVITY_KIND_RUNTIME",
                            "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"}) {
    if (!database.has(table)) return database.lacks(table);
  }
  return read_nvprof(database, begin_trace(database));
}

#else

Result<Trace> read_profiler_database(PaddedBytes, const std::string& name) {
  return Failure(ErrorCode::Unsupported,
                 name + ": is an SQLite database; this Sonde was built without SQLite");
}

Result<Trace> read_nvprof_database(PaddedBytes bytes, const std::string& name) {
  return read_profiler_database(std::move(bytes), name);
}

#endif

}  // namespace sonde
