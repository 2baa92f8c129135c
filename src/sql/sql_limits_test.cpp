// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What queries must not do, and what is said when they are wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>

#include "sonde/sql.h"
#include "trace/testing/sketch.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using testing::sketch;

SqlDatabase limited() {
  std::vector<NamedTrace> traces;
  traces.push_back({"a.sonde", sketch("main  aabb")});
  return std::move(*SqlDatabase::over(std::move(traces)));
}

// What goes wrong when a query is made or run; empty: nothing.
std::string problem(const std::string& text, const QueryLimits& limits = {}) {
  const SqlDatabase database = limited();
  Result<SqlQuery> query = database.query(text, limits);
  if (!query) return query.error().message;
  for (;;) {
    const Result<bool> row = query->next();
    if (!row) return row.error().message;
    if (!*row) return "";
  }
}

class Forbidden : public ::testing::TestWithParam<const char*> {};

TEST_P(Forbidden, StatementsAreRefused) {
  EXPECT_NE(problem(GetParam()), "") << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Statements, Forbidden,
    ::testing::Values("CREATE TABLE x(a)", "CREATE TEMP TABLE x(a)", "CREATE VIEW v AS SELECT 1",
                      "DROP TABLE spans", "DELETE FROM spans", "UPDATE spans SET name = 'x'",
                      "INSERT INTO spans(name) VALUES ('x')", "ATTACH 'x.db' AS x",
                      "ATTACH ':memory:' AS x", "VACUUM INTO 'x.db'", "PRAGMA journal_mode = WAL",
                      "PRAGMA temp_store_directory = '/tmp'", "SELECT load_extension('x.so')",
                      "SELECT readfile('/etc/passwd')", "SELECT writefile('x', 'y')",
                      "CREATE VIRTUAL TABLE x USING fts5(a)", "BEGIN", "SAVEPOINT a", "ANALYZE",
                      "DETACH main", "ALTER TABLE spans RENAME TO x",
                      "SELECT fts3_tokenizer('simple')",
                      "SELECT fts3_tokenizer('simple', x'0000000000000000')", "SELECT fts5(1)",
                      "SELECT rtreenode(2, x'00')", "SELECT name FROM spans WHERE matchinfo(name)",
                      "PRAGMA writable_schema = 1", "SELECT * FROM sqlite_dbpage",
                      "SELECT * FROM dbstat"));

TEST(SqlErrors, SayThatQueriesOnlyRead) {
  EXPECT_THAT(problem("DELETE FROM spans"), HasSubstr("queries can only read"));
  EXPECT_THAT(problem("ATTACH 'x' AS y"), HasSubstr("queries can only read"));
}

TEST(SqlErrors, NameWhatWasProbablyMeant) {
  EXPECT_EQ(problem("SELECT * FROM span"), "no such table: span; did you mean spans?");
  EXPECT_EQ(problem("SELECT dur FROM spans"), "no such column: dur; did you mean duration_ns?");
  EXPECT_EQ(problem("SELECT nmae FROM spans"), "no such column: nmae; did you mean name?");
  EXPECT_THAT(problem("SELEC 1"), HasSubstr("syntax error"));
  EXPECT_THAT(problem("INCLUDE PERFETTO MODULE slices"), HasSubstr("leave out INCLUDE"));
  EXPECT_EQ(problem("SELECT * FROM dbstat"), "no such table: dbstat; `.tables` lists them");
  EXPECT_THAT(problem("SELECT percentile(id, 'x') FROM spans"), HasSubstr("must be a number"));
  EXPECT_EQ(problem(""), "there is no query in the text");
}

constexpr const char* kEndless =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

TEST(SqlLimits, AQueryThatTakesTooLongIsEnded) {
  EXPECT_THAT(problem(kEndless, {0.01, nullptr}), HasSubstr("took longer than 0.01 s"));
}

TEST(SqlLimits, TimeSpentOnTheRowsDoesNotCount) {
  const SqlDatabase database = limited();
  SqlQuery query = std::move(*database.query(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
      {0.2, nullptr}));
  ASSERT_TRUE(query.next());
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(210);
  while (std::chrono::steady_clock::now() < until) continue;
  for (int row = 0; row < 5'000; ++row) ASSERT_TRUE(query.next()) << row;
}

TEST(SqlLimits, NoValueIsLargerThan100Megabytes) {
  EXPECT_EQ(problem("SELECT length(zeroblob(100000000))"), "");
  for (const char* const text : {"SELECT zeroblob(100000001)", "SELECT hex(zeroblob(60000000))"})
    EXPECT_EQ(problem(text), "a text or blob would be larger than 100 MB") << text;
}

TEST(SqlLimits, AQueryCanBeInterrupted) {
  const std::atomic<bool> cancelled{true};
  EXPECT_EQ(problem(kEndless, {0, &cancelled}), "the query was interrupted");
}

TEST(SqlLimits, ReadingAndExplainingIsAllowed) {
  for (const char* const text :
       {"SELECT 1", "VALUES (1)", "SELECT value FROM json_each('[1, 2]')",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "EXPLAIN QUERY PLAN SELECT * FROM spans WHERE id = 1", "PRAGMA table_info(spans)",
        "SELECT name FROM sqlite_master", "SELECT name FROM pragma_table_info('spans')",
        "SELECT name FROM pragma_table_list"})
    EXPECT_EQ(problem(text), "") << text;
}

}  // namespace
}  // namespace sonde
