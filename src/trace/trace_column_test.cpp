// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/trace/column.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <unordered_set>

#include "sonde/trace/tables_gen.h"

namespace sonde {
namespace {

TEST(Column, TakesNoMemoryWhileAllValuesAreNull) {
  Column<std::int64_t> column(-1);
  for (int i = 0; i < 1000; ++i) column.push_back(-1);
  EXPECT_EQ(column.size(), 1000u);
  EXPECT_EQ(column[999], -1);
  EXPECT_EQ(column.memory_bytes(), 0u);
  EXPECT_EQ(column.data(), nullptr);
}

TEST(Column, KeepsTheNullRowsBeforeTheFirstValue) {
  Column<std::int32_t> column(-1);
  column.push_back(-1);
  column.push_back(7);
  ASSERT_TRUE(column.materialised());
  EXPECT_EQ(column[0], -1);
  EXPECT_EQ(column[1], 7);
}

TEST(Column, SetChangesOneRow) {
  Column<std::int32_t> column(0);
  column.resize(3);
  column.set(1, 0);
  EXPECT_FALSE(column.materialised());
  column.set(1, 5);
  EXPECT_EQ(column[0], 0);
  EXPECT_EQ(column[1], 5);
  EXPECT_EQ(column[2], 0);
}

TEST(Column, AppendMovesAWholeColumnIntoAnEmptyOne) {
  Column<std::int32_t> from(0);
  from.push_back(1);
  from.push_back(2);
  const std::int32_t* data = from.data();
  Column<std::int32_t> to(0);
  to.append(std::move(from));
  EXPECT_EQ(to.data(), data);
  EXPECT_EQ(from.size(), 0u);  // NOLINT(bugprone-use-after-move): append() promises it
}

TEST(Column, AppendJoinsNullAndFilledColumns) {
  Column<std::int32_t> column(0);
  column.resize(2);
  Column<std::int32_t> filled(0);
  filled.push_back(9);
  Column<std::int32_t> nulls(0);
  nulls.resize(1);
  column.append(std::move(filled));
  column.append(std::move(nulls));
  ASSERT_EQ(column.size(), 4u);
  EXPECT_EQ(column[1], 0);
  EXPECT_EQ(column[2], 9);
  EXPECT_EQ(column[3], 0);
}

TEST(Column, AppendOfNullsToNullsStaysFree) {
  Column<std::int32_t> column(0);
  column.resize(2);
  const std::int32_t zeros[3] = {0, 0, 0};
  column.append(zeros, 3);
  EXPECT_EQ(column.size(), 5u);
  EXPECT_FALSE(column.materialised());
}

TEST(Column, AppendKeepsTheOthersNullValue) {
  Column<std::int32_t> column(0);
  Column<std::int32_t> other(-1);
  other.resize(2);
  column.append(std::move(other));
  EXPECT_EQ(column[0], -1);
}

TEST(Column, AssignGivesMemoryBackIfAllIsNull) {
  Column<std::int32_t> column(0);
  column.push_back(1);
  column.assign({0, 0});
  EXPECT_EQ(column.size(), 2u);
  EXPECT_FALSE(column.materialised());
}

TEST(Column, KeepsNegativeZeroAndNan) {
  Column<double> column(0.0);
  column.push_back(-0.0);
  column.push_back(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(std::signbit(column[0]));
  EXPECT_TRUE(std::isnan(column[1]));
  EXPECT_EQ(column, column);
}

TEST(Column, ReserveWaitsForTheFirstValue) {
  Column<std::int32_t> column(0);
  column.reserve(100);
  column.push_back(0);
  EXPECT_EQ(column.memory_bytes(), 0u);
  column.push_back(1);
  EXPECT_EQ(column.memory_bytes(), 400u);
}

TEST(Id, IsInvalidUntilGivenARow) {
  EXPECT_FALSE(SpanId().valid());
  EXPECT_TRUE(SpanId(0).valid());
  EXPECT_LT(SpanId(3), SpanId(4));
  EXPECT_FALSE((std::is_same_v<SpanId, TrackId>));
  EXPECT_FALSE((std::is_convertible_v<SpanId, TrackId>));
  EXPECT_FALSE((std::is_convertible_v<int, SpanId>));
}

TEST(Id, CanBeHashed) {
  const std::unordered_set<SpanId> ids = {SpanId(1), SpanId(1), SpanId(2)};
  EXPECT_EQ(ids.size(), 2u);
}

TEST(SpanTable, GivesBackTheRowThatWasPushed) {
  SpanTable table;
  const SpanRow row = {.start_ns = 5, .duration_ns = 2, .kind = SpanKind::CpuOp, .step = 3};
  const SpanId id = table.push_back(row);
  EXPECT_EQ(id, SpanId(0));
  EXPECT_EQ(table.row(id).start_ns, 5);
  EXPECT_EQ(table.row(id).kind, SpanKind::CpuOp);
  EXPECT_EQ(table.row(id).step, 3);
  EXPECT_EQ(table.row(id).sequence_number, -1);
}

TEST(SpanTable, VisitsEveryColumnByName) {
  SpanTable table;
  table.resize(4);
  std::size_t columns = 0;
  bool saw_name = false;
  table.visit_columns([&](std::string_view name, const auto& column) {
    ++columns;
    saw_name = saw_name || name == "name";
    EXPECT_EQ(column.size(), 4u) << name;
  });
  EXPECT_GT(columns, 20u);
  EXPECT_TRUE(saw_name);
}

TEST(Enumerations, ReadBackWhatTheyPrint) {
  for (int i = 0; i < 256; ++i) {
    const auto kind = static_cast<SpanKind>(i);
    if (!is_known(kind)) continue;
    EXPECT_EQ(parse_span_kind(to_string(kind)), kind);
  }
  EXPECT_EQ(to_string(SpanKind::GpuMemcpy), "gpu_memcpy");
  EXPECT_EQ(parse_span_kind("no such kind"), std::nullopt);
  EXPECT_FALSE(is_known(static_cast<SpanKind>(250)));
  EXPECT_EQ(span_flags_text(SpanFlags::kUnfinished | SpanFlags::kAsync), "unfinished,async");
}

}  // namespace
}  // namespace sonde
