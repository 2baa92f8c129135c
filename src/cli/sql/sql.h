// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// `sonde sql`: questions to traces, in SQL.

#include <atomic>
#include <string>
#include <vector>

#include "cli/print/output.h"
#include "cli/sql/query_watch.h"
#include "sonde/open.h"
#include "sonde/sql.h"

namespace sonde::cli {

struct SqlCommand {
  std::vector<std::string> words;  // traces, then perhaps a query
  OpenOptions open;
  std::string format = "table";  // table, markdown, csv, json, parquet
  std::string output;            // empty: standard output
  double time_limit_s = 300;     // 0: none
};
Result<void> check(const SqlCommand& command);
Result<void> run_sql(const SqlCommand& command, Output& out);

// Prints what a query gives.
Result<void> print_rows(SqlQuery& query, QueryWatch& watch, const std::string& format, Output& out);

// Writes what a query gives as a Parquet file, which appears whole.
Result<void> write_rows_parquet(SqlQuery& query, QueryWatch& watch, const std::string& path);

// What queries and dot commands share: the database, the format, the limits.
class SqlSession {
 public:
  SqlSession(const SqlDatabase& database, const SqlCommand& command)
      : database_(database),
        format_(command.format),
        output_(command.output),
        time_limit_s_(command.time_limit_s) {}

  const SqlDatabase& database() const { return database_; }
  bool is_over() const { return is_over_; }

  // All queries in a text, or one dot command.
  Result<void> run(std::string_view text, Output& out);

 private:
  Result<void> run_dot(const std::string& command, Output& out);

  const SqlDatabase& database_;
  std::string format_;
  std::string output_;  // of Parquet
  double time_limit_s_;
  bool is_over_ = false;
};

// Reads lines from the terminal until .quit or the end of the input.
Result<void> run_shell(SqlSession& session);

// Set by Ctrl-C while a query runs.
std::atomic<bool>& interrupted();

}  // namespace sonde::cli
