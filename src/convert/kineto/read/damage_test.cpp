// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Broken JSON: what can be read is read, the ledger lists what is missing, and nothing crashes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "convert/testing/read_text.h"
#include "trace/testing/deep.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using testing::ledger_count;
using testing::ledger_detail;
using testing::read;
using testing::read_events;
using testing::try_read;

constexpr std::string_view kSmall =
    R"({"schemaVersion": 1, "baseTimeNanoseconds": 1000, "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "first", "pid": 1, "tid": 1, "ts": 1.000, "dur": 2,
   "args": {"External id": 1, "Input Dims": [[1, 2]], "Input type": ["float"]}},
  {"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 1.000, "cat": "ac2g", "name": "ac2g"},
  {"ph": "i", "name": "second", "s": "t", "pid": 1, "tid": 1, "ts": 5},
  {"ph": "X", "cat": "cpu_op", "name": "third \"q\" \\", "pid": 1, "tid": 1, "ts": 6, "dur": 2}
  ], "traceName": "x"})";

TEST(KinetoDamage, ReadsTheEventsBeforeACutAtAnyByte) {
  const std::size_t array = kSmall.find("[");
  const std::size_t first_end = kSmall.find("}},") + 2;
  const std::size_t instant_end = kSmall.find("\"ts\": 5}") + 8;
  for (std::size_t size = 1; size < kSmall.size(); ++size) {
    const Result<Trace> trace = try_read(kSmall.substr(0, size));
    if (size <= array) {
      EXPECT_FALSE(trace) << size;
      continue;
    }
    ASSERT_TRUE(trace) << size << ": " << trace.error().message;
    EXPECT_EQ(ledger_count(*trace, LedgerKind::Truncated), 1U) << size;
    EXPECT_EQ(ledger_count(*trace, LedgerKind::Undecodable), 0U) << size;
    EXPECT_EQ(trace->spans().size() >= 1, size >= first_end) << size;
    EXPECT_EQ(trace->instants().size(), size >= instant_end ? 1U : 0U) << size;
  }
}

TEST(KinetoDamage, SurvivesAnyByteInAnyPlace) {
  for (std::size_t at = 0; at < kSmall.size(); at += testing::deep_or(1U, 7U)) {
    for (const char byte : {'"', '{', '}', '[', ']', ',', '\\', '\0', '\xff', '9'}) {
      std::string text(kSmall);
      text[at] = byte;
      const Result<Trace> trace = try_read(text);
      if (trace) testing::dumped(*trace);
    }
  }
}

TEST(KinetoDamage, SkipsABrokenEventAndCountsIt) {
  const Trace trace = read_events(
      R"({"ph": "X", "name": "a", "ts": 1}, {"ph": "X", "name" "b"}, {"ph": "X", "name": "c", "ts": 3})");
  EXPECT_EQ(trace.spans().size(), 2U);
  EXPECT_EQ(ledger_count(trace, LedgerKind::Undecodable), 1U);
  EXPECT_THAT(ledger_detail(trace, LedgerKind::Undecodable), HasSubstr("byte 36"));
}

TEST(KinetoDamage, MendsQuotesInsideOfNames) {
  const Trace trace = read_events(
      R"({"ph": "X", "name": "load "model.pt" now", "pid": 1, "ts": 1, "dur": 2}, {"ph": "X", "name": "c", "ts": 3})");
  ASSERT_EQ(trace.spans().size(), 2U);
  bool found = false;
  for (const SpanId span : trace.all_spans()) {
    found |= trace.name(span) == "load \"model.pt\" now" && trace.spans().duration_ns[span] == 2000;
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(ledger_count(trace, LedgerKind::Note), 1U);
  EXPECT_EQ(ledger_count(trace, LedgerKind::Undecodable), 0U);
}

TEST(KinetoDamage, CountsAMendedNameEachTime) {
  const std::string mended = R"({"ph": "X", "name": "load "it" now", "pid": 1, "ts": 1})";
  const Trace trace = read_events(mended + ", " + mended + ", " + mended);
  ASSERT_EQ(trace.spans().size(), 3U);
  for (const SpanId span : trace.all_spans()) EXPECT_EQ(trace.name(span), "load \"it\" now");
  EXPECT_EQ(ledger_count(trace, LedgerKind::Note), 3U);
}

TEST(KinetoDamage, MendsTexts) {
  const Trace trace =
      read_events("{\"ph\": \"X\", \"ts\": 1, \"name\": \"a\xff\tb \\U C:\\x \\ud800\"}");
  ASSERT_EQ(trace.spans().size(), 1U);
  EXPECT_EQ(trace.name(SpanId(0)), "a\xEF\xBF\xBD\tb \\U C:\\x \xEF\xBF\xBD");
}

TEST(KinetoDamage, CountsMendedTextsAndSaysWhereTheFirstStands) {
  const std::string text =
      "[{\"ph\": \"X\", \"ts\": 1, \"name\": \"fine \\u00e9 \xc3\xa9\"},"
      "{\"ph\": \"X\", \"ts\": 2, \"name\": \"raw\ttab\"},"
      "{\"ph\": \"X\", \"ts\": 3, \"name\": \"raw\ttab\"},"
      "{\"ph\": \"X\", \"ts\": 4, \"name\": \"torn \xff\", \"args\": {\"dir\": \"C:\\x\"}}]";
  const Trace trace = read(text);
  EXPECT_EQ(trace.spans().size(), 4U);
  EXPECT_EQ(ledger_count(trace, LedgerKind::Note), 3U) << "each text once";
  EXPECT_THAT(ledger_detail(trace, LedgerKind::Note),
              HasSubstr("the first at byte " + std::to_string(text.find('\t'))));
}

TEST(KinetoDamage, CountsMendedTextsWhereverTheyStand) {
  for (const std::string_view text : {
           "{\"traceEvents\": [], \"job\": \"a\x01\"}",
           "{\"traceEvents\": [], \"loss\": NaN}",
           "{\"traceEvents\": [], \"deviceProperties\": [{\"id\": 0, \"name\": \"\xff\"}]}",
           "[{\"ph\": \"M\", \"name\": \"thread_name\", \"tid\": 1, \"args\": {\"name\": "
           "\"\x02\"}}]",
           "[{\"ph\": \"X\", \"ts\": 1, \"tid\": \"\xc3\"}]",
           "[{\"ph\": \"X\", \"ts\": 1, \"args\": {\"Call stack\": \"a\\d;b;\"}}]",
           "[{\"ph\": \"X\", \"ts\": 1, \"args\": {\"Input type\": [\"\\q\"]}}]",
           "[{\"ph\": \"Z\", \"what\": \"\x1f\"}, {\"ph\": \"X\", \"ts\": 1}]",
       }) {
    EXPECT_EQ(ledger_count(read(text), LedgerKind::Note), 1U) << text;
  }
}

TEST(KinetoDamage, KeepsExtrasValidWhateverTheyWere) {
  const Trace trace =
      read_events("{\"ph\": \"X\", \"ts\": 1, \"args\": {\"a\": NaN, \"b\": \"\x01\\q\"}}");
  EXPECT_EQ(testing::extra(trace, "a"), "\"NaN\"");
  EXPECT_EQ(testing::extra(trace, "b"), "\"\\u0001\\\\q\"");
}

TEST(KinetoDamage, LeavesOutEventsWithoutATimeAndClearsDurationsThatAreNone) {
  const Trace trace = read_events(R"(
    {"ph": "X", "name": "a", "ts": NaN, "dur": 1}, {"ph": "X", "name": "b", "ts": null},
    {"ph": "X", "name": "c", "ts": 1e30}, {"ph": "X", "name": "d"},
    {"ph": "X", "name": "e", "ts": 5, "dur": -3}, {"ph": "X", "name": "f", "ts": 6, "dur": NaN})");
  ASSERT_EQ(trace.spans().size(), 2U);
  EXPECT_EQ(trace.spans().duration_ns[SpanId(0)], 0);
  EXPECT_EQ(ledger_count(trace, LedgerKind::Undecodable), 6U);
  EXPECT_THAT(ledger_detail(trace, LedgerKind::Undecodable), HasSubstr("the first at byte "));
}

TEST(KinetoDamage, TakesHugeNumbersWithoutOverflow) {
  const Trace trace = read(R"({"baseTimeNanoseconds": 9223372036854775807, "traceEvents": [
    {"ph": "X", "name": "a", "ts": 9223372036854775, "dur": 9223372036854775,
     "args": {"External id": 99999999999999999999, "correlation": -9223372036854775808}}]})");
  EXPECT_EQ(trace.spans().size(), 1U);
  EXPECT_EQ(testing::extra(trace, "External id"), "99999999999999999999");
}

TEST(KinetoDamage, RefusesToGoTenMillionLevelsDeep) {
  constexpr std::size_t kDeep = 10'000'000;
  const std::string arrays(kDeep, '[');
  EXPECT_FALSE(try_read(arrays));
  const Trace in_args = read(R"({"traceEvents": [{"ph": "X", "name": "a", "ts": 1},
    {"ph": "X", "name": "b", "ts": 2, "args": {"x": )" +
                             arrays);
  EXPECT_EQ(in_args.spans().size(), 1U);
  std::string objects;
  for (std::size_t i = 0; i < kDeep / 18; ++i) objects += R"([{"ph":"X","args":)";
  const Result<Trace> nested = try_read(objects);
  EXPECT_TRUE(!nested || nested->spans().empty());
  EXPECT_FALSE(try_read(R"({"a": )" + std::string(kDeep, '{')));
}

TEST(KinetoDamage, FindsTheEventsBehindABrokenHeader) {
  const Trace trace =
      read(R"({"a": [[[}, "b" 3, "traceEvents": [{"ph": "X", "name": "a", "ts": 1}]})");
  EXPECT_EQ(trace.spans().size(), 1U);
  EXPECT_GE(ledger_count(trace, LedgerKind::Undecodable), 1U);
}

TEST(KinetoDamage, ReadsTheFirstOfTwoFilesGluedTogether) {
  const std::string text(kSmall);
  const Trace trace = read(text + "\n" + text);
  EXPECT_EQ(trace.spans().size(), 2U);
  EXPECT_EQ(ledger_count(trace, LedgerKind::DamagedBytes), text.size());
  EXPECT_THAT(ledger_detail(trace, LedgerKind::DamagedBytes),
              HasSubstr("another document begins at byte " + std::to_string(text.size() + 1)));
}

TEST(KinetoDamage, TakesIdsThatComeTwice) {
  const Trace trace = read_events(R"(
    {"ph": "X", "name": "a", "ts": 1, "dur": 1}, {"ph": "s", "id": 1, "cat": "x", "ts": 1},
    {"ph": "X", "name": "b", "ts": 5, "dur": 1}, {"ph": "s", "id": 1, "cat": "x", "ts": 5},
    {"ph": "X", "name": "c", "ts": 7, "dur": 1}, {"ph": "f", "id": 1, "cat": "x", "ts": 7},
    {"ph": "X", "name": "d", "ts": 2, "dur": 1}, {"ph": "f", "id": 1, "cat": "x", "ts": 2})");
  ASSERT_EQ(trace.flows().size(), 2U);
  EXPECT_EQ(trace.name(trace.flows().from_span[FlowId(0)]), "a");
  EXPECT_EQ(trace.name(trace.flows().to_span[FlowId(0)]), "d");
  EXPECT_EQ(trace.name(trace.flows().from_span[FlowId(1)]), "b");
  EXPECT_EQ(trace.name(trace.flows().to_span[FlowId(1)]), "c");
}

TEST(KinetoDamage, SaysWhyJsonIsNoTrace) {
  EXPECT_THAT(try_read(R"({"schema": "1.1.1-chakra", "nodes": []})").error().message,
              HasSubstr("without \"traceEvents\" (it has schema, nodes)"));
  EXPECT_THAT(try_read("[1, 2]").error().message,
              HasSubstr("array without events; searched up to byte 6"));
  EXPECT_THAT(try_read(R"({"traceEvents": "none"})").error().message,
              HasSubstr("\"traceEvents\" at byte 2 is not an array"));
  EXPECT_TRUE(try_read("[]"));
  EXPECT_TRUE(try_read(R"({"traceEvents": []})"));
}

}  // namespace
}  // namespace sonde
