// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Exports of tables, read back by others: SQLite, and protozero's reader.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "convert/columns/table_chunks.h"
#include "sonde/export.h"
#include "sonde/open.h"
#include "sonde/trace/builder.h"
#include "trace/relation.h"
#include "trace/testing/sketch.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using testing::sketch;
using testing::TempDir;

Trace recorded_transformer() {
  return *open_trace(std::string(SONDE_TEST_DATA) +
                     "/torch-2.11-h200/transformer.pt.trace.json.gz");
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The first value of a query's first row.
std::string first_value(const std::string& path, const std::string& text) {
  sqlite3* database = nullptr;
  sqlite3_stmt* statement = nullptr;
  sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr);
  sqlite3_prepare_v2(database, text.c_str(), -1, &statement, nullptr);
  std::string value = "no row";
  if (sqlite3_step(statement) == SQLITE_ROW) {
    const unsigned char* const cell = sqlite3_column_text(statement, 0);
    value = cell == nullptr ? "NULL" : reinterpret_cast<const char*>(cell);
  }
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return value;
}

TEST(ExportSqlite, HasEveryRowWithNamesAndNulls) {
  const TempDir dir;
  const Trace trace = recorded_transformer();
  ASSERT_TRUE(export_sqlite(trace, dir.file("t.sqlite")));
  for (const TableKind kind : all_tables())
    EXPECT_EQ(
        first_value(dir.file("t.sqlite"), "SELECT count(*) FROM " + std::string(to_string(kind))),
        std::to_string(trace.tables().rows(kind)));
  std::int64_t sum = 0;
  for (const SpanId span : trace.all_spans()) sum += trace.spans().duration_ns[span];
  EXPECT_EQ(first_value(dir.file("t.sqlite"), "SELECT sum(duration_ns) FROM spans"),
            std::to_string(sum));
  EXPECT_EQ(first_value(dir.file("t.sqlite"), "SELECT name FROM spans WHERE id = 7"),
            trace.name(SpanId(7)));
  EXPECT_EQ(first_value(dir.file("t.sqlite"), "SELECT count(*) FROM spans WHERE correlation = 0"),
            "0");
}

TEST(ExportParquet, IsAFolderThatAppearsWhole) {
  const TempDir dir;
  const Trace trace = sketch("main  aabb");
  ASSERT_TRUE(export_parquet(trace, dir.file("t.parquet")));
  const std::string spans = bytes_of(dir.file("t.parquet/spans.parquet"));
  EXPECT_TRUE(spans.starts_with("PAR1"));
  EXPECT_TRUE(spans.ends_with("PAR1"));
  EXPECT_TRUE(std::filesystem::exists(dir.file("t.parquet/tracks.parquet")));
  const Result<void> again = export_parquet(trace, dir.file("t.parquet"));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("this exists"));
  EXPECT_FALSE(export_parquet(trace, dir.file("none/t.parquet")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

// A stream is messages of a size that is a multiple of eight, and an end.
TEST(ExportArrow, IsAFolderOfStreamsThatAppearsWhole) {
  const TempDir dir;
  const Trace trace = sketch("main  aabb");
  ASSERT_TRUE(export_arrow(trace, dir.file("t.arrow")));
  const std::string spans = bytes_of(dir.file("t.arrow/spans.arrow"));
  EXPECT_TRUE(spans.starts_with("\xff\xff\xff\xff"));
  EXPECT_TRUE(spans.ends_with(std::string("\xff\xff\xff\xff\0\0\0\0", 8)));
  EXPECT_EQ(spans.size() % 8, 0U);
  EXPECT_FALSE(export_arrow(trace, dir.file("t.arrow")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(ExportParquet, WritesPartsByRank) {
  const TempDir dir;
  const Trace trace = sketch("main  aabb");
  const auto open = [&](std::size_t) -> Result<Trace> { return trace; };
  ASSERT_TRUE(export_parquet_parts({"rank=0", "rank=1"}, open, dir.file("job.parquet")));
  EXPECT_TRUE(std::filesystem::exists(dir.file("job.parquet/rank=1/spans.parquet")));
  EXPECT_FALSE(export_parquet_parts({"rank=0", "rank=0"}, open, dir.file("twice.parquet")));
  EXPECT_FALSE(std::filesystem::exists(dir.file("twice.parquet")));
}

TEST(TableChunks, MendsTextsThatAreNotUtf8) {
  TraceBuilder builder;
  builder.instants().push_back({.time_ns = 1'000, .name = builder.intern("\xff x")});
  const Trace trace = *std::move(builder).build();
  TableChunks chunks(trace, relation(trace, TableKind::Instants));
  bool found = false;
  const ChunkGroup group = chunks.read(0);
  for (const ColumnValues& chunk : group.chunks)
    for (const std::string_view text : chunk.texts) found |= text == "\xef\xbf\xbd x";
  EXPECT_TRUE(found);
}

struct ReadProfile {
  std::vector<std::vector<std::uint64_t>> paths;
  std::vector<std::vector<std::int64_t>> values;
  std::vector<std::string> texts;
};

ReadProfile read_profile(const std::string& bytes) {
  ReadProfile profile;
  protozero::pbf_reader message(bytes);
  while (message.next()) {
    if (message.tag() == 6) {
      profile.texts.push_back(message.get_string());
    } else if (message.tag() == 2) {
      protozero::pbf_reader sample = message.get_message();
      while (sample.next()) {
        if (sample.tag() == 1) {
          const auto ids = sample.get_packed_uint64();
          profile.paths.emplace_back(ids.begin(), ids.end());
        } else {
          const auto numbers = sample.get_packed_int64();
          profile.values.emplace_back(numbers.begin(), numbers.end());
        }
      }
    } else {
      message.skip();
    }
  }
  return profile;
}

TEST(ExportPprof, PathsAddUpToTheTimes) {
  const TempDir dir;
  const Trace trace = recorded_transformer();
  ASSERT_TRUE(export_pprof(trace, dir.file("t.pprof")));
  const ReadProfile profile = read_profile(bytes_of(dir.file("t.pprof")));
  ASSERT_FALSE(profile.texts.empty());
  EXPECT_EQ(profile.texts.front(), "");
  std::int64_t device = 0;
  for (const SpanId span : trace.all_spans())
    if (is_device_work(trace.spans().kind[span])) device += trace.spans().duration_ns[span];
  std::int64_t seen = 0;
  for (const std::vector<std::int64_t>& values : profile.values) {
    ASSERT_EQ(values.size(), 4);
    EXPECT_GE(values[0], 0);
    seen += values[1];
  }
  EXPECT_EQ(seen, device);
}

TEST(ExportPprof, ASpanInsideAnotherIsAPath) {
  const TempDir dir;
  ASSERT_TRUE(export_pprof(sketch(R"(
      main  aaaaaaaa
      main  .bb.....
  )"),
                           dir.file("t.pprof")));
  const ReadProfile profile = read_profile(bytes_of(dir.file("t.pprof")));
  ASSERT_EQ(profile.paths.size(), 2);
  EXPECT_EQ(profile.paths[0].size(), 1);
  EXPECT_EQ(profile.paths[1].size(), 2);
  EXPECT_EQ(profile.values[0][0], 6000);
  EXPECT_EQ(profile.values[1][0], 2000);
}

}  // namespace
}  // namespace sonde
