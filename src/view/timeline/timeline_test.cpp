// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "sonde/trace/builder.h"
#include "trace/testing/sketch.h"
#include "view/timeline/area.h"
#include "view/timeline/search.h"
#include "view/timeline/tiles.h"
#include "view/timeline/timeline_index.h"
#include "view/timeline/view_service.h"

namespace sonde::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Bursts of nested and overlapping spans with long pauses between them.
Trace bursts(int spans, unsigned seed) {
  std::mt19937_64 random(seed);
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back({});
  TrackRow thread;
  thread.process = process;
  TrackRow stream;
  stream.process = process;
  stream.kind = TrackKind::Stream;
  stream.id = 7;
  const TrackId tracks[] = {builder.tracks().push_back(thread), builder.tracks().push_back(stream)};
  Nanos at = 1'700'000'000'000'000'000;
  for (int i = 0; i < spans; ++i) {
    at += i % 500 == 0 ? 3'000'000'000 : static_cast<Nanos>(random() % 2000);
    SpanRow row;
    row.track = tracks[i % 2];
    row.kind = i % 2 == 0 ? SpanKind::CpuOp : SpanKind::Kernel;
    row.start_ns = at;
    row.duration_ns = static_cast<Nanos>(random() % (i % 370 == 0 ? 200'000 : 3000));
    row.name = builder.intern("name" + std::to_string(random() % 20));
    builder.spans().push_back(row);
  }
  return *std::move(builder).build();
}

TEST(TimelineIndex, PutsChildrenBelowTheirParents) {
  const TimelineIndex index(testing::sketch(R"(
      main  aaaaaaaa..
      main  .bb.cccc..
      main  .....d....
  )"));
  EXPECT_EQ(index.rows(0), 3u);
  EXPECT_THAT(index.lane(0, 1), SizeIs(2));
}

TEST(TimelineIndex, HidesNoSpanThatOverlapsAnother) {
  const TimelineIndex index(testing::sketch(R"(
      gpu0/stream7  aaaa......
      gpu0/stream7  ..bbbb....
      gpu0/stream7  ...cc.....
      gpu0/stream7  .....dd...
  )"));
  for (std::uint32_t row = 0; row < index.rows(0); ++row) {
    Nanos reached = 0;
    for (const std::uint32_t span : index.lane(0, row)) {
      EXPECT_GE(index.times().begin(span), reached);
      reached = index.times().end(span);
    }
  }
  EXPECT_EQ(index.rows(0), 3u);
}

TEST(TimelineIndex, CountsEverySpanAtEveryLevel) {
  const TimelineIndex index(bursts(20'000, 3));
  const Nanos length = index.length_ns();
  for (int level = 0; level <= 40; ++level) {
    const Nanos end = ((length >> level) + 1) << level;
    for (std::uint32_t track = 0; track < index.tracks(); ++track) {
      std::vector<Rect> rects;
      index.add_rects(track, level, 0, end, rects);
      std::uint64_t count = 0;
      for (const Rect& rect : rects) count += rect.count;
      ASSERT_EQ(count, index.spans_of(track).size()) << "level " << level;
    }
  }
}

TEST(TimelineIndex, DrawsLongSpansAsThemselvesAtEveryLevel) {
  const TimelineIndex index(bursts(20'000, 5));
  for (int level = 0; level <= 30; level += 3) {
    const Nanos end = ((index.length_ns() >> level) + 1) << level;
    std::vector<Rect> rects;
    for (std::uint32_t track = 0; track < index.tracks(); ++track)
      index.add_rects(track, level, 0, end, rects);
    std::uint64_t alone = 0;
    for (const Rect& rect : rects)
      alone += rect.count == 1 && index.times().length(rect.span) >= Nanos{1} << level ? 1U : 0U;
    std::uint64_t is_long = 0;
    for (std::uint32_t span = 0; span < index.trace().spans().size(); ++span)
      is_long += index.times().length(span) >= Nanos{1} << level ? 1U : 0U;
    EXPECT_EQ(alone, is_long) << "level " << level;
  }
}

TEST(TimelineIndex, DrawsASpanLessThanABucketFromWhereItIs) {
  const TimelineIndex index(bursts(20'000, 9));
  for (int level = 0; level <= 40; ++level) {
    const auto bucket = static_cast<double>(Nanos{1} << level);
    for (std::uint32_t track = 0; track < index.tracks(); ++track) {
      std::vector<Rect> rects;
      index.add_rects(track, level, 0, ((index.length_ns() >> level) + 1) << level, rects);
      for (const Rect& rect : rects) {
        if (rect.count > 1) continue;
        const auto begin = static_cast<double>(index.times().begin(rect.span));
        const auto length = static_cast<double>(index.times().length(rect.span));
        const double rounding = 1e-6 * (begin + length) / bucket;
        ASSERT_NEAR(rect.begin, begin / bucket, 1 + rounding) << "level " << level;
        ASSERT_NEAR(rect.end - rect.begin, length / bucket, 2 * rounding) << "level " << level;
      }
    }
  }
}

TEST(TimelineIndex, FindsTheRowOfASpanAndItsNeighbours) {
  const TimelineIndex index(testing::sketch(R"(
      main  aaaaaaaa..
      main  .bb.cccc..
  )"));
  EXPECT_EQ(index.row_of(SpanId(2)), 1u);
  EXPECT_EQ(index.neighbour(SpanId(2), -1), SpanId(1));
  EXPECT_FALSE(index.neighbour(SpanId(2), 1).valid());
}

TEST(TimelineIndex, CostsAtMostEightBytesASpan) {
  const TimelineIndex index(bursts(200'000, 7));
  EXPECT_LE(index.memory_bytes(), 8 * index.trace().spans().size());
}

TEST(TimelineIndex, TakesATraceWithoutSpans) {
  const TimelineIndex index{Trace()};
  EXPECT_EQ(index.tracks(), 1u);
  EXPECT_EQ(index.rows(0), 0u);
}

TEST(TimelineIndex, PlacesManySpansThatAllOverlap) {
  TraceBuilder builder;
  TrackRow row;
  row.process = builder.processes().push_back({});
  row.kind = TrackKind::Async;
  const TrackId track = builder.tracks().push_back(row);
  for (int i = 0; i < 5000; ++i) {
    SpanRow span;
    span.track = track;
    span.start_ns = i;
    span.duration_ns = 100'000;
    span.flags = SpanFlags::kAsync;
    span.name = builder.intern("a");
    builder.spans().push_back(span);
  }
  EXPECT_EQ(TimelineIndex(*std::move(builder).build()).rows(0), 5000u);
}

TEST(Curves, OfACounterAreOneWhicheverThreadSaysIt) {
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back({});
  const StringId queue = builder.intern("queue");
  for (int i = 0; i < 4; ++i) {
    TrackRow thread;
    thread.process = process;
    thread.id = i;
    CounterRow counter;
    counter.track = builder.tracks().push_back(thread);
    counter.time_ns = 100 * i;
    counter.name = queue;
    counter.value = i + 1;
    builder.counters().push_back(counter);
  }
  const TraceAnswers answers(*std::move(builder).build(), "drawn");
  const std::vector<Curve> all = curves(answers.trace());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(curve_values(answers, all[0], 0, 300, 3), ElementsAre(1, 2, 3));
}

TEST(Curves, OfACounterShowWhatIsFurthestFromZero) {
  TraceBuilder builder;
  TrackRow thread;
  thread.process = builder.processes().push_back({});
  CounterRow counter;
  counter.track = builder.tracks().push_back(thread);
  counter.name = builder.intern("balance");
  for (const double value : {-7.0, 2.0, 3.0, -1.0, -2.0}) {
    counter.value = value;
    builder.counters().push_back(counter);
    counter.time_ns += 50;
  }
  const TraceAnswers answers(*std::move(builder).build(), "drawn");
  EXPECT_THAT(curve_values(answers, curves(answers.trace())[0], 0, 200, 2), ElementsAre(-7, 3));
}

std::string words(std::initializer_list<std::uint32_t> all) {
  const std::vector<std::uint32_t> list(all);
  return {reinterpret_cast<const char*>(list.data()), list.size() * 4};
}

TEST(Tiles, RefuseWhatIsNoRequest) {
  const TimelineIndex index(testing::sketch("main aaa"));
  EXPECT_FALSE(tiles(index, "").has_value());
  EXPECT_FALSE(tiles(index, words({0, 0, 1, 2, 0})).has_value());
  EXPECT_FALSE(tiles(index, words({53, 0, 1, 1, 0})).has_value());
  EXPECT_FALSE(tiles(index, words({0, 0, 0xffffffff, 1, 0})).has_value());
  EXPECT_TRUE(tiles(index, words({52, 0xffffffff, 3, 1, 0})).has_value());
}

TEST(Tiles, HaveOneRectangleForEachSpanSeenFromNear) {
  const TimelineIndex index(testing::sketch(R"(
      main  aaaa.bbb
      main  .cc.....
  )"));
  const Result<std::string> bytes = tiles(index, words({3, 0, 1, 1, 0}));
  ASSERT_TRUE(bytes.has_value());
  std::uint32_t head[4];
  std::memcpy(head, bytes->data(), sizeof(head));
  EXPECT_THAT(head, ElementsAre(0u, 3u, 0u, 3u));
  EXPECT_EQ(bytes->size(), 16u + 3 * 24);
}

TEST(Area, AddsUpWhatIsInside) {
  const TraceAnswers answers(testing::sketch(R"(
      main  aaaaaaaaaa
      main  .bb..bb...
  )"),
                             "drawn");
  const std::uint32_t track = 0;
  const Area found = area(answers, {&track, 1}, 2000, 10'000);
  ASSERT_THAT(found.rows, SizeIs(2));
  EXPECT_EQ(answers.trace().string(found.rows[0].name), "a");
  EXPECT_EQ(found.rows[0].total_ns, 8000);
  EXPECT_EQ(found.rows[0].self_ns, 5000);
  EXPECT_EQ(found.rows[1].count, 2u);
  EXPECT_EQ(found.rows[1].total_ns, 3000);
}

TEST(Area, CountsNothingAfterItsEnd) {
  const TraceAnswers answers(testing::sketch(R"(
      main  aaaaaaaaaa
      main  .bb..bb...
  )"),
                             "drawn");
  const std::uint32_t track = 0;
  const Area found = area(answers, {&track, 1}, 0, 6000);
  ASSERT_THAT(found.rows, SizeIs(2));
  EXPECT_EQ(found.rows[0].total_ns + found.rows[1].total_ns, 6000 + 3000);
  EXPECT_EQ(found.rows[0].self_ns, 3000);
  EXPECT_EQ(found.rows[1].self_ns, 3000);
}

std::vector<std::uint32_t> found_by(const TraceAnswers& answers, std::string_view text) {
  const Result<Query> query = parse_query(text);
  std::vector<std::uint32_t> out;
  if (query.has_value())
    for (const SpanId span : search(answers, *query).first) out.push_back(span.value());
  return out;
}

TEST(Search, FindsByNameKindAndLength) {
  const TraceAnswers answers(testing::sketch(R"(
      main          aaaa.b..
      gpu0/stream7  ..kkkkk.
  )"),
                             "drawn");
  EXPECT_THAT(found_by(answers, "A"), ElementsAre(0u));
  EXPECT_THAT(found_by(answers, "kind:kernel"), ElementsAre(2u));
  EXPECT_THAT(found_by(answers, "dur > 1us"), ElementsAre(0u, 2u));
  EXPECT_THAT(found_by(answers, "dur>=4us dur<5us"), ElementsAre(0u));
  EXPECT_THAT(found_by(answers, "zz"), ElementsAre());
  EXPECT_FALSE(parse_query("kind:kernels").has_value());
}

TEST(Search, SaysWhatIsWrongWithALength) {
  EXPECT_THAT(parse_query("dur > 3parsecs").error().message, HasSubstr("length of time"));
  EXPECT_FALSE(parse_query("dur > x").has_value());
  EXPECT_FALSE(parse_query("dur >").has_value());
}

TEST(ViewService, AnswersWhatItKnowsAndRefusesTheRest) {
  const ViewService service(testing::sketch(R"(
      main          aaaa.b..
      gpu0/stream7  ..kkkkk.
  )"),
                            "</script><b>");
  EXPECT_EQ(service.answer("/api/trace", "").status, 200);
  EXPECT_THAT(service.answer("/api/trace", "").body, ::testing::Not(HasSubstr("</script>")));
  EXPECT_THAT(service.answer("/api/span?id=0", "").body, HasSubstr("\"name\": \"a\""));
  for (const char* const target : {"/api/span?id=9", "/api/span", "/api/span?id=-1", "/api/none"})
    EXPECT_EQ(service.answer(target, "").status, 404) << target;
  for (const char* const name : {"overview", "operators", "kernels", "modules", "flame", "memory",
                                 "communication", "ledger"})
    EXPECT_EQ(service.answer("/api/view?name=" + std::string(name), "").status, 200) << name;
  EXPECT_EQ(service.answer("/api/view?name=secret", "").status, 404);
  EXPECT_EQ(service.answer("/api/curve?id=0&from=0&to=5000&n=5", "").body.size(), 20u);
  EXPECT_EQ(service.answer("/api/curve?id=99&from=0&to=5000&n=5", "").status, 400);
  EXPECT_EQ(service.answer("/api/search?q=dur%20%3E%20x", "").status, 400);
}

}  // namespace
}  // namespace sonde::detail
