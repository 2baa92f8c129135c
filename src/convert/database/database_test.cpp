// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "convert/testing/made_database.h"
#include "convert/testing/read_text.h"
#include "sonde/open.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ledger_count;
using testing::ledger_detail;
using testing::MadeDatabase;

constexpr std::array kBoth = {"id", "value"};

Result<SqliteDatabase> opened(const std::string& bytes) {
  SONDE_TRY(PaddedBytes copy, PaddedBytes::copy_of(bytes));
  return SqliteDatabase::over(std::move(copy), "made.sqlite");
}

std::string failure_of(const Result<SqliteRows>& rows) {
  return rows ? "rows" : rows.error().message;
}

TEST(SqliteDatabase, ReadsRowsInTheirOrder) {
  MadeDatabase made;
  made.run(
      "CREATE TABLE t (id INTEGER, value TEXT, bytes BLOB);"
      "INSERT INTO t VALUES (2, 'two', x'0102'), (1, 'one', NULL)");
  Result<SqliteDatabase> database = opened(made.bytes());
  ASSERT_TRUE(database) << database.error().message;
  EXPECT_THAT(database->tables(), ElementsAre("t"));
  constexpr std::array kColumns = {"value", "ID", "bytes", "missing"};
  Result<SqliteRows> rows = database->rows("t", kColumns);
  ASSERT_TRUE(rows);
  ASSERT_TRUE(rows->next());
  EXPECT_EQ(rows->text(0), "two");
  EXPECT_EQ(rows->integer(1), 2);
  EXPECT_EQ(rows->blob(2).size(), 2U);
  EXPECT_FALSE(rows->integer(3));
  ASSERT_TRUE(rows->next());
  EXPECT_EQ(rows->integer(1), 1);
  EXPECT_FALSE(rows->next());
  EXPECT_EQ(rows->problem(), "");
}

TEST(SqliteDatabase, TakesNoNumberForTextAndNoTextForANumber) {
  MadeDatabase made;
  made.run("CREATE TABLE t (id, value); INSERT INTO t VALUES ('1', 2), (1.5, NULL)");
  Result<SqliteDatabase> database = opened(made.bytes());
  Result<SqliteRows> rows = database->rows("t", kBoth);
  ASSERT_TRUE(rows->next());
  EXPECT_FALSE(rows->integer(0));
  EXPECT_EQ(rows->text(1), "");
  ASSERT_TRUE(rows->next());
  EXPECT_FALSE(rows->integer(0));
}

TEST(SqliteDatabase, RefusesWhatIsNoTable) {
  MadeDatabase made;
  made.run(
      "CREATE TABLE hidden (id, value); CREATE VIEW v AS SELECT id, value FROM hidden;"
      "CREATE TABLE t (id INTEGER, value TEXT AS (upper(id)))");
  Result<SqliteDatabase> database = opened(made.bytes());
  EXPECT_FALSE(database->has("v"));
  EXPECT_THAT(failure_of(database->rows("v", kBoth)), HasSubstr("v is a view, not a table"));
  EXPECT_THAT(failure_of(database->rows("w", kBoth)), HasSubstr("has no table w"));
  EXPECT_THAT(failure_of(database->rows("t", kBoth, 2)), HasSubstr("t has no column value"));
}

TEST(SqliteDatabase, ReadsNamesThatNeedQuotes) {
  MadeDatabase made;
  made.run(R"(CREATE TABLE "a "" b" ("end" INTEGER); INSERT INTO "a "" b" VALUES (7))");
  Result<SqliteDatabase> database = opened(made.bytes());
  constexpr std::array kColumns = {"end"};
  Result<SqliteRows> rows = database->rows(R"(a " b)", kColumns);
  ASSERT_TRUE(rows);
  ASSERT_TRUE(rows->next());
  EXPECT_EQ(rows->integer(0), 7);
}

// A report of Nsight Systems with many kernels and one name.
std::string report(int kernels) {
  MadeDatabase made;
  made.run(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "INSERT INTO StringIds VALUES (1, 'kernel');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER,"
      "  deviceId INTEGER, streamId INTEGER, demangledName INTEGER);"
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < " +
      std::to_string(kernels) +
      ") INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i * 100, i * 100 + 50, 0, 7, 1 FROM n");
  return made.bytes();
}

TEST(SqliteDatabase, KeepsWhatIsLeftOfACutFile) {
  const std::string whole = report(1000);
  const Result<Trace> trace = MadeDatabase::try_read(whole.substr(0, whole.size() / 2));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_GT(trace->spans().size(), 100U);
  EXPECT_LT(trace->spans().size(), 1000U);
  EXPECT_EQ(ledger_count(*trace, LedgerKind::Truncated), 1U);
  EXPECT_THAT(ledger_detail(*trace, LedgerKind::DamagedBytes), HasSubstr("KERNEL ends early"));
}

TEST(SqliteDatabase, SurvivesEveryDamagedByte) {
  const std::string whole = report(60);
  std::size_t opened_traces = 0;
  for (std::size_t at = 16; at < whole.size(); at += 7) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const Result<Trace> trace = MadeDatabase::try_read(damaged);
    if (!trace) continue;
    testing::dumped(*trace);
    ++opened_traces;
  }
  EXPECT_GT(opened_traces, 10U);
}

// Pages that refer to each other make a table endless.
TEST(SqliteDatabase, EndsTablesThatHaveNoEnd) {
  std::string bytes = report(2000);
  constexpr std::size_t kPage = 512;
  // An inner page of a table has type 5, and its cells begin with the number of a child.
  for (std::size_t page = kPage; page + kPage <= bytes.size(); page += kPage) {
    if (bytes[page] != 5) continue;
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(bytes[page + at]); };
    const std::size_t cells = byte(3) * 256U + byte(4);
    const std::size_t first = byte(12) * 256U + byte(13);
    for (std::size_t i = 0; i < cells; ++i) {
      const std::size_t cell = byte(12 + 2 * i) * 256U + byte(13 + 2 * i);
      bytes.replace(page + cell, 4, bytes.substr(page + first, 4));
    }
  }
  const Result<Trace> trace = MadeDatabase::try_read(bytes);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_LT(trace->spans().size(), bytes.size());
}

TEST(SqliteDatabase, ReadsAFileWithAWriteAheadLogBesideIt) {
  const testing::TempDir dir;
  std::string bytes = report(3);
  bytes[18] = bytes[19] = 2;
  std::ofstream(dir.file("r.sqlite"), std::ios::binary) << bytes;
  std::ofstream(dir.file("r.sqlite-wal"), std::ios::binary) << "newer pages";
  const Result<Trace> trace = open_trace(dir.file("r.sqlite"));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->spans().size(), 3U);
  EXPECT_THAT(testing::dumped(*trace), HasSubstr("r.sqlite-wal are not read"));
}

TEST(SqliteDatabase, SaysWhatADatabaseIsThatIsNoProfile) {
  MadeDatabase made;
  EXPECT_THAT(MadeDatabase::try_read(std::string("SQLite format 3\0garbage", 23)).error().message,
              HasSubstr("SQLite database"));
  made.run("CREATE TABLE moz_places (url TEXT); CREATE TABLE moz_hosts (host TEXT)");
  EXPECT_THAT(made.error(), HasSubstr("its tables are moz_hosts, moz_places"));
}

}  // namespace
}  // namespace sonde
