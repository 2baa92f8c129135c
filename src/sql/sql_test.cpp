// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/sql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sonde/open.h"
#include "sonde/trace/builder.h"
#include "trace/testing/sketch.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using testing::sketch;

std::string cell(const SqlValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return "NULL";
  if (const auto* const number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* const real = std::get_if<double>(&value)) return std::to_string(*real);
  return std::string(std::get<std::string_view>(value));
}

// Each row as "a|b|c"; an error as its message.
std::vector<std::string> rows(const SqlDatabase& database, const std::string& text) {
  std::vector<std::string> lines;
  Result<SqlQuery> query = database.query(text);
  if (!query) return {query.error().message};
  for (;;) {
    const Result<bool> row = query->next();
    if (!row) return {row.error().message};
    if (!*row) return lines;
    std::string line;
    for (std::size_t i = 0; i < query->columns().size(); ++i)
      line += (i == 0 ? "" : "|") + cell(query->value(i));
    lines.push_back(line);
  }
}

SqlDatabase over(const Trace& trace) {
  std::vector<NamedTrace> traces;
  traces.push_back({"a.sonde", trace});
  return std::move(*SqlDatabase::over(std::move(traces)));
}

Trace small() {
  return sketch(R"(
      main           aaaaaaaa..
      main           .bb.cccc..
      gpu0/stream7   ....kkkk..
  )");
}

Trace transformer() {
  return *open_trace(std::string(SONDE_TEST_DATA) +
                     "/torch-2.11-h200/transformer.pt.trace.json.gz");
}

TEST(Sql, ShowsSpansWithTheirNames) {
  EXPECT_THAT(
      rows(over(small()), "SELECT name, start_ns, duration_ns, kind FROM spans ORDER BY id"),
      ElementsAre("a|0|8000|scope", "b|1000|2000|scope", "c|4000|4000|scope",
                  "k|4000|4000|kernel"));
}

TEST(Sql, ComputesDepthSelfTimeAndClass) {
  EXPECT_THAT(
      rows(over(small()), "SELECT name, depth, self_ns, end_ns, class FROM spans ORDER BY id"),
      ElementsAre("a|0|2000|8000|annotation", "b|1|2000|3000|annotation",
                  "c|1|4000|8000|annotation", "k|0|4000|8000|kernel"));
}

TEST(Sql, AbsentValuesAreNull) {
  EXPECT_THAT(rows(over(small()),
                   "SELECT count(*) FROM spans WHERE correlation IS NULL AND parent "
                   "IS NULL AND module IS NULL"),
              ElementsAre("2"));
  EXPECT_THAT(rows(over(small()), "SELECT count(*) FROM spans WHERE start_ns IS NULL"),
              ElementsAre("0"));
}

TEST(Sql, ComparesNumbersWithTextsThatAreNumbers) {
  EXPECT_THAT(rows(over(small()), "SELECT count(*) FROM spans WHERE duration_ns < '4001'"),
              ElementsAre("3"));
}

TEST(Sql, IdsOfSeveralTracesCountOnSoThatTablesJoin) {
  std::vector<NamedTrace> traces;
  traces.push_back({"a", small()});
  traces.push_back({"b", small()});
  const SqlDatabase database = std::move(*SqlDatabase::over(std::move(traces)));
  EXPECT_THAT(rows(database, "SELECT file, count(*), min(id), max(id) FROM spans GROUP BY file"),
              ElementsAre("a|4|0|3", "b|4|4|7"));
  EXPECT_THAT(rows(database,
                   "SELECT c.file, c.name, p.name FROM spans c JOIN spans p ON "
                   "c.parent = p.id ORDER BY c.id"),
              ElementsAre("a|b|a", "a|c|a", "b|b|a", "b|c|a"));
  EXPECT_THAT(rows(database,
                   "SELECT s.name, t.name FROM spans s JOIN tracks t ON s.track = t.id "
                   "WHERE s.file = 'b' AND t.kind = 'stream'"),
              ElementsAre("k|stream7"));
}

// A + in front of a column keeps SQLite from handing the condition down.
class PushedDown : public ::testing::TestWithParam<const char*> {};

TEST_P(PushedDown, ConditionsGiveWhatSqliteFindsItself) {
  static const SqlDatabase database = over(transformer());
  std::string condition = GetParam();
  const std::string select = "SELECT count(*), sum(id), sum(duration_ns) FROM spans WHERE ";
  std::string plain = condition;
  for (std::size_t at = plain.find('@'); at != std::string::npos; at = plain.find('@'))
    plain.replace(at, 1, "+");
  for (std::size_t at = condition.find('@'); at != std::string::npos; at = condition.find('@'))
    condition.erase(at, 1);
  EXPECT_EQ(rows(database, select + condition), rows(database, select + plain)) << condition;
}

INSTANTIATE_TEST_SUITE_P(
    Conditions, PushedDown,
    ::testing::Values(
        "@name = 'aten::mm'", "@name = 'ATEN::MM'", "@name = 'aten::mm' COLLATE NOCASE",
        "@name LIKE '%Backward%'", "@name LIKE 'aten::_m'", "@name GLOB 'aten::*'",
        "@name IN ('aten::mm', 'aten::add', 'nothing')", "@kind = 'kernel'", "@kind = 'nonsense'",
        "@kind LIKE '%runtime'", "@kind IN ('kernel', 'cpu_op')", "@class = 'operator'",
        "@duration_ns > 1000", "@duration_ns >= 1000.5", "@duration_ns = 1e300",
        "@duration_ns < 1e300", "@duration_ns > 'text'", "@duration_ns < 'text'",
        "@duration_ns = NULL", "@correlation = 5", "@correlation < 0", "@correlation IS NULL",
        "@correlation IS NOT NULL", "@parent = 10", "@track = 0", "@track IS NULL", "@step > 0",
        "@step < 100", "@id = 100", "@id = -1", "@id BETWEEN 10 AND 20",
        "@id > 9223372036854775807", "@id < 5 OR @id > 1000",
        "@start_ns > (SELECT min(start_ns) + 1000000 FROM spans)",
        "@start_ns BETWEEN (SELECT min(start_ns) + 1000000 FROM spans) AND (SELECT min(start_ns) "
        "+ 2000000 FROM spans)",
        "@name = 'aten::mm' AND @duration_ns > 5000 AND @kind = 'cpu_op'", "@name > 'b'",
        "@rank = 0", "@rank IS NULL", "@file = 'a.sonde'", "@file = 'b'", "@name = 5",
        "@launch IS NOT NULL", "@scope = 'backward_function'"));

class InOrder : public ::testing::TestWithParam<const char*> {};

TEST_P(InOrder, RowsComeAsSqliteWouldSortThem) {
  static const SqlDatabase database = over(transformer());
  const std::string by = GetParam();
  std::string plain;
  for (const char c : by) plain += c == '@' ? std::string("+") : std::string(1, c);
  std::string pushed;
  for (const char c : by) pushed += c == '@' ? std::string() : std::string(1, c);
  const std::string select =
      "SELECT name, kind, duration_ns, track, correlation FROM spans ORDER BY ";
  EXPECT_EQ(rows(database, select + pushed), rows(database, select + plain));
}

INSTANTIATE_TEST_SUITE_P(Orders, InOrder,
                         ::testing::Values("@name, @id", "@name DESC, @id", "@duration_ns, @id",
                                           "@duration_ns DESC, @id", "@kind, @name, @id",
                                           "@correlation, @id DESC", "@track DESC, @start_ns, @id",
                                           "@step, @duration_ns, @id"));

TEST(Sql, GroupsByNameAsSqliteWould) {
  const SqlDatabase database = over(transformer());
  EXPECT_EQ(rows(database,
                 "SELECT name, kind, count(*), sum(duration_ns) FROM spans GROUP BY name, "
                 "kind ORDER BY 1, 2"),
            rows(database,
                 "SELECT +name, +kind, count(*), sum(duration_ns) FROM spans GROUP BY "
                 "+name, +kind ORDER BY 1, 2"));
  EXPECT_EQ(rows(database, "SELECT DISTINCT kind FROM spans ORDER BY kind DESC"),
            rows(database, "SELECT DISTINCT +kind FROM spans ORDER BY +kind DESC"));
}

TEST(Sql, JoinsOnCorrelationThroughAnIndexAsWithoutOne) {
  const SqlDatabase database = over(transformer());
  const std::string from =
      "SELECT count(*), sum(k.start_ns - l.start_ns) FROM spans l JOIN spans k ";
  const std::string where = " WHERE l.class = 'call' AND k.kind = 'kernel'";
  EXPECT_EQ(rows(database, from + "ON l.correlation = k.correlation" + where),
            rows(database, from + "ON +l.correlation = +k.correlation" + where));
}

TEST(Sql, OperatorsAddUpToTheSpans) {
  const SqlDatabase database = over(transformer());
  EXPECT_EQ(rows(database,
                 "SELECT kind, name, count, total_ns, min_ns, max_ns, self_ns FROM operators "
                 "ORDER BY 1, 2"),
            rows(database,
                 "SELECT kind, name, count(*), sum(duration_ns), min(duration_ns), "
                 "max(duration_ns), sum(self_ns) FROM spans WHERE kind IN (SELECT kind FROM "
                 "operators) GROUP BY 1, 2 ORDER BY 1, 2"));
  EXPECT_EQ(
      rows(database, "SELECT sum(total_ns), sum(count), round(sum(share), 6) FROM kernel_stats"),
      rows(database,
           "SELECT sum(duration_ns), count(*), 1.0 FROM spans WHERE class IN "
           "('kernel', 'copy', 'work')"));
  EXPECT_EQ(rows(database, "SELECT sum(busy_ns + idle_ns) FROM streams"),
            rows(database, "SELECT sum(end_ns - start_ns) FROM streams"));
}

TEST(Sql, EveryTableAndViewCanBeReadWhole) {
  const SqlDatabase database = over(transformer());
  for (const SqlTable& table : database.tables()) {
    const std::vector<std::string> all = rows(database, "SELECT * FROM " + table.name);
    const std::vector<std::string> count = rows(database, "SELECT count(*) FROM " + table.name);
    EXPECT_THAT(count, ElementsAre(std::to_string(all.size()))) << table.name;
  }
  const SqlDatabase empty = over(Trace());
  for (const SqlTable& table : empty.tables())
    EXPECT_EQ(rows(empty, "SELECT count(*) FROM " + table.name)[0],
              table.name == "trace_bounds" ? "1" : "0")
        << table.name;
}

TEST(Sql, HasTheFunctionsThatItLists) {
  const SqlDatabase database = over(small());
  EXPECT_THAT(rows(database,
                   "SELECT demangle('_Z3addPfi'), short_name('void a::k<4>(int)'), "
                   "overlap(0, 10, 5, 20), overlap(0, 1, 5, 6), duration_text(1234567), "
                   "bytes_text(1536), ms(1500000), utc(0)"),
              ElementsAre("add(float*, int)|k|5|0|1.235 ms|1.5 KiB|1.500000|1970-01-01 "
                          "00:00:00.000000000"));
  EXPECT_THAT(rows(database,
                   "SELECT median(duration_ns), percentile(duration_ns, 100), "
                   "median(correlation) FROM spans"),
              ElementsAre("4000.000000|8000.000000|NULL"));
  EXPECT_THAT(rows(database, "SELECT overlap(NULL, 1, 2, 3), short_name(NULL), stack_text(99)"),
              ElementsAre("NULL|NULL|NULL"));
}

TEST(Sql, RunsQueriesWrittenForPerfetto) {
  EXPECT_THAT(
      rows(over(small()),
           "SELECT s.name, s.ts, s.dur, s.depth, t.name FROM slice s JOIN thread_track tt ON "
           "s.track_id = tt.id JOIN thread t USING (utid) WHERE s.parent_id IS NULL"),
      ElementsAre("a|0|8000|0|main"));
  EXPECT_THAT(rows(over(small()), "SELECT name, thread_name FROM thread_slice ORDER BY ts, name"),
              ElementsAre("a|main", "b|main", "c|main"));
}

TEST(Sql, KnowsTheSlicesAroundAndInsideAnother) {
  const SqlDatabase database = over(sketch(R"(
      main  aaaaaaaa..
      main  .bbbbb....
      main  ..cc.d....
  )"));
  EXPECT_THAT(rows(database,
                   "SELECT name, depth FROM ancestor_slice((SELECT id FROM slice WHERE "
                   "name = 'c')) ORDER BY depth"),
              ElementsAre("a|0", "b|1"));
  EXPECT_THAT(rows(database,
                   "SELECT s.name, d.name FROM slice s JOIN descendant_slice(s.slice_id) d "
                   "WHERE s.depth < 2 ORDER BY 1, 2"),
              ElementsAre("a|b", "a|c", "a|d", "b|c", "b|d"));
  EXPECT_THAT(rows(database, "SELECT * FROM ancestor_slice(NULL), descendant_slice('x')"),
              ElementsAre());
  EXPECT_THAT(rows(database, "SELECT * FROM ancestor_slice"),
              ElementsAre("write ancestor_slice(id)"));
}

TEST(Sql, HasAllThatPyTorchSaysOfASpan) {
  const SqlDatabase database = over(transformer());
  const std::string mm = "FROM slice WHERE name = 'aten::mm' ORDER BY ts LIMIT 1";
  const std::string id = rows(database,
                              "SELECT external_id FROM spans WHERE name = 'aten::mm' "
                              "ORDER BY start_ns LIMIT 1")[0];
  EXPECT_THAT(rows(database,
                   "SELECT extract_arg(arg_set_id, 'args.External id'), "
                   "EXTRACT_ARG(arg_set_id, 'nothing') " +
                       mm),
              ElementsAre(id + "|NULL"));
  EXPECT_THAT(rows(database, "SELECT json_extract(arguments_json(id), '$.\"External id\"') " + mm),
              ElementsAre(id));
  EXPECT_THAT(rows(database, "SELECT extract_arg(arg_set_id, 'Input Dims') " + mm),
              ElementsAre(::testing::StartsWith("[[")));
  EXPECT_THAT(rows(database,
                   "SELECT a.int_value FROM slice JOIN args a USING (arg_set_id) WHERE "
                   "name = 'aten::mm' AND a.key = 'args.External id' ORDER BY ts LIMIT 1"),
              ElementsAre(id));
  EXPECT_THAT(rows(database, "SELECT arguments_json(-1), extract_arg('x', NULL)"),
              ElementsAre("NULL|NULL"));
}

TEST(Sql, KnowsWhenTheTraceBeganAndWhichThreadIsTheFirst) {
  EXPECT_THAT(rows(over(small()), "SELECT trace_start(), trace_end(), trace_dur()"),
              ElementsAre("0|8000|8000"));
  EXPECT_THAT(rows(over(transformer()), "SELECT sum(is_main_thread) FROM thread"),
              ElementsAre("1"));
}

}  // namespace
}  // namespace sonde
