// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/thread_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "decode/note_decoder.h"
#include "wire/testing/hand_made.h"

namespace sonde {
namespace {

using detail::ExtendedKind;
using detail::kChunkFirstWord;
using detail::make_position;
using testing::begin;
using ::testing::ElementsAre;
using testing::end;
using testing::extended;
using ::testing::IsEmpty;
using testing::join;
using testing::lap;
using testing::text_payload;
using testing::Words;

constexpr std::uint32_t kNone = SpanId::kInvalid;
constexpr std::uint64_t kEver = ~std::uint64_t{0};

Piece piece(std::uint64_t sequence, std::uint32_t first_offset, Words words) {
  Piece made;
  made.head.thread = 1;
  made.head.sequence = sequence;
  made.head.first_offset = first_offset;
  made.head.word_count = static_cast<std::uint32_t>(words.size());
  made.words = std::move(words);
  return made;
}

std::vector<std::uint16_t> flags_of(const DecodedThread& thread) {
  std::vector<std::uint16_t> flags;
  for (std::size_t i = 0; i < thread.spans.flags.size(); ++i)
    flags.push_back(thread.spans.flags[i]);
  return flags;
}

template <typename T>
std::vector<T> values_of(const Column<T>& column) {
  std::vector<T> all;
  for (std::size_t i = 0; i < column.size(); ++i) all.push_back(column[i]);
  return all;
}

template <typename Id>
std::vector<std::uint32_t> numbers(const Column<Id>& ids) {
  std::vector<std::uint32_t> numbers;
  for (const Id id : values_of(ids)) numbers.push_back(id.value());
  return numbers;
}

// A thread's words in a recording whose ticks are nanoseconds and whose last one is 1000. Ids 1 to
// 9 are known names, numbered like their ids.
class Decoding {
 public:
  Decoding& windows(std::vector<TickWindow> windows) {
    context_.windows = std::move(windows);
    return *this;
  }
  Decoding& for_operator_table() {
    context_.purpose = ReadFor::OperatorTable;
    return *this;
  }
  Decoding& ended_elsewhere(std::uint64_t position, ForeignEnd foreign_end) {
    foreign_ends_[position] = foreign_end;
    return *this;
  }
  DecodedThread of(std::vector<Piece> pieces) {
    NameTable names;
    for (std::uint64_t id = 1; id <= 9; ++id) names.set(id, {});
    const TickMap clock({});
    context_.names = &names;
    context_.clock = &clock;
    context_.last_ticks = 1'000;
    return decode_thread(std::move(pieces), foreign_ends_, context_);
  }
  DecodedThread of(std::initializer_list<Words> words) {
    return of(std::vector<Piece>{piece(0, kChunkFirstWord, join(words))});
  }

 private:
  DecodeContext context_{nullptr, nullptr, {{0, kEver, 0, 0}}, 0};
  ForeignEnds foreign_ends_;
};

Words begin_range(std::uint64_t ticks, std::uint64_t id) {
  return extended(ticks, ExtendedKind::BeginRange, {id});
}
// Ends the range whose BeginRange is word number `word` of chunk 0.
Words end_range(std::uint64_t ticks, std::uint32_t word) {
  return extended(ticks, ExtendedKind::EndRange, {make_position(0, kChunkFirstWord + word * 8)});
}

TEST(ThreadDecoder, LeavesOutWhatTheOperatorTableDoesNotShow) {
  const auto words = {extended(100, ExtendedKind::OpShort, {1, 7}),
                      extended(110, ExtendedKind::OpTensors, {0, 1, 2}),
                      extended(120, ExtendedKind::Allocation, {4096, 64, 128, 256, 0}), end(130)};
  const auto all = Decoding().of(words);
  const auto some = Decoding().for_operator_table().of(words);
  EXPECT_TRUE(all.spans.start_ns == some.spans.start_ns);
  EXPECT_TRUE(all.ops.scope == some.ops.scope);
  EXPECT_TRUE(all.moments.allocations.time_ns == some.moments.allocations.time_ns);
  EXPECT_TRUE(all.moments.allocations.bytes == some.moments.allocations.bytes);
  EXPECT_EQ(all.moments.allocations.address[0], 4096u);
  EXPECT_FALSE(some.moments.allocations.address.materialised());
  EXPECT_EQ(all.ops.external_id[0], 1);
  EXPECT_TRUE(some.ops.external_id.empty());
  EXPECT_EQ(all.ops.tensors.size(), 1u);
  EXPECT_EQ(some.ops.tensors.size(), 0u);
}

TEST(ThreadDecoder, PairsBeginsAndEndsByNesting) {
  const auto thread =
      Decoding().of({begin(10, 1), begin(20, 2), end(30), begin(35, 3), end(40), end(50)});
  EXPECT_THAT(values_of(thread.spans.start_ns), ElementsAre(10, 20, 35));
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(40, 10, 5));
  EXPECT_THAT(numbers(thread.spans.name), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers(thread.spans.parent), ElementsAre(kNone, 0, 0));
  EXPECT_EQ(thread.counts.records, 6u);
  EXPECT_EQ(thread.counts.unfinished + thread.counts.unmatched + thread.counts.out_of_window +
                thread.counts.undecodable,
            0u);
}

TEST(ThreadDecoder, EndsOneLapWhereTheNextBegins) {
  const auto thread = Decoding().of({begin(10, 1), begin(20, 2), lap(30, 3), end(40), end(50)});
  EXPECT_THAT(values_of(thread.spans.start_ns), ElementsAre(10, 20, 30));
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(40, 10, 10));
  EXPECT_THAT(numbers(thread.spans.parent), ElementsAre(kNone, 0, 0));
}

TEST(ThreadDecoder, EndsTheScopeBelowARangeThatStaysOpen) {
  const auto thread = Decoding().of({begin(10, 1), begin_range(20, 2), end(30), end_range(60, 1)});
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(20, 40));
  EXPECT_THAT(numbers(thread.spans.parent), ElementsAre(kNone, 0));
}

TEST(ThreadDecoder, EndsRangesInAnyOrder) {
  const auto thread = Decoding().of({begin_range(10, 1), begin_range(20, 2), begin_range(30, 3),
                                     end_range(40, 2), end_range(50, 0), end_range(60, 4)});
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(40, 20, 30));
  EXPECT_THAT(numbers(thread.spans.parent), ElementsAre(kNone, 0, 1));
}

TEST(ThreadDecoder, TakesTheInnermostOfScopesAndRangesForParent) {
  const auto thread =
      Decoding().of({begin_range(10, 1), begin(20, 2), begin(30, 3), end(40), begin_range(50, 4),
                     begin(60, 5), end(70), end_range(80, 5), begin(90, 6), end(95), end(96),
                     begin(97, 7), end(98), end_range(99, 0)});
  EXPECT_THAT(numbers(thread.spans.parent), ElementsAre(kNone, 0, 1, 1, 3, 1, 0));
}

TEST(ThreadDecoder, EndsARangeOnlyOnce) {
  const auto thread = Decoding().of({begin_range(10, 1), begin_range(20, 2), end_range(30, 0),
                                     end_range(40, 0), end_range(50, 2), end_range(60, 2)});
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(20, 30));
  EXPECT_EQ(thread.counts.out_of_window, 2u);
}

TEST(ThreadDecoder, MarksStepsAmongTheRanges) {
  NameTable names;
  names.set(1, {});
  NameInfo step;
  step.step = 4;
  names.set(2, step);
  const TickMap clock({});
  DecodeContext context{&names, &clock, {{0, kEver, 0, 0}}, 100};
  const auto thread = decode_thread(
      {piece(0, kChunkFirstWord, join({begin_range(1, 1), begin_range(2, 2), begin(3, 2)}))}, {},
      context);
  EXPECT_THAT(values_of(thread.spans.kind),
              ElementsAre(SpanKind::UserAnnotation, SpanKind::Step, SpanKind::Scope));
}

TEST(ThreadDecoder, ReadsWordsThatSeveralPiecesHoldOnce) {
  const Words words = join({begin(10, 1), begin(20, 2), end(30), end(40)});
  const auto stretch = [&](std::size_t from, std::size_t count) {
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(from);
    return piece(0, kChunkFirstWord + static_cast<std::uint32_t>(from) * 8,
                 Words(first, first + static_cast<std::ptrdiff_t>(count)));
  };
  const auto thread = Decoding().of(
      {stretch(1, 3), stretch(0, 2), stretch(0, 3), stretch(2, 2), stretch(0, 2), stretch(1, 1)});
  EXPECT_THAT(values_of(thread.spans.start_ns), ElementsAre(10, 20));
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(30, 10));
  EXPECT_EQ(thread.counts.records, 4u);
  EXPECT_EQ(thread.counts.unfinished + thread.counts.unmatched, 0u);
}

TEST(ThreadDecoder, GoesOnFromOneChunkToTheNext) {
  const auto thread = Decoding().of(
      std::vector<Piece>{piece(8, kChunkFirstWord, join({end(40), end(50)})),
                         piece(7, kChunkFirstWord, join({begin(10, 1), begin(20, 2)}))});
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(40, 20));
  EXPECT_EQ(thread.counts.unfinished, 0u);
}

TEST(ThreadDecoder, CutsWhatIsOpenWhereWordsAreMissing) {
  const auto in_chunk = Decoding().of(
      std::vector<Piece>{piece(0, kChunkFirstWord, begin(10, 1)),
                         piece(0, kChunkFirstWord + 16, join({begin(50, 2), end(60), end(70)}))});
  const auto whole_chunk = Decoding().of(
      std::vector<Piece>{piece(0, kChunkFirstWord, begin(10, 1)),
                         piece(2, kChunkFirstWord, join({begin(50, 2), end(60), end(70)}))});
  const auto chunk_start = Decoding().of(
      std::vector<Piece>{piece(0, kChunkFirstWord, begin(10, 1)),
                         piece(1, kChunkFirstWord + 8, join({begin(50, 2), end(60), end(70)}))});
  for (const DecodedThread* thread : {&in_chunk, &whole_chunk, &chunk_start}) {
    EXPECT_THAT(values_of(thread->spans.duration_ns), ElementsAre(40, 10))
        << "cut where the words go on";
    EXPECT_THAT(flags_of(*thread), ElementsAre(SpanFlags::kUnfinished, 0));
    EXPECT_THAT(numbers(thread->spans.parent), ElementsAre(kNone, kNone));
    EXPECT_EQ(thread->counts.unfinished, 1u);
    EXPECT_EQ(thread->counts.unmatched, 1u);
  }
}

TEST(ThreadDecoder, CutsWhatIsOpenWhereEndsWereLost) {
  Piece after = piece(1, kChunkFirstWord, join({begin(50, 2), end(60)}));
  after.head.lost_before = 7;
  after.head.lost_ends_before = 1;
  const auto thread =
      Decoding().of(std::vector<Piece>{piece(0, kChunkFirstWord, begin(10, 1)), after, after});
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(40, 10));
  EXPECT_EQ(thread.counts.unfinished, 1u);
  EXPECT_EQ(thread.counts.lost, 7u) << "a piece that comes twice counts as one loss";
}

TEST(ThreadDecoder, KeepsWhatIsOpenWhereOnlyBeginsWereLost) {
  Piece after = piece(1, kChunkFirstWord, end(60));
  after.head.lost_before = 7;
  const auto thread =
      Decoding().of(std::vector<Piece>{piece(0, kChunkFirstWord, begin(10, 1)), after});
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(50));
  EXPECT_EQ(thread.counts.unfinished, 0u);
}

TEST(ThreadDecoder, CountsEndsOfWhatBeganBeforeRecordingDid) {
  const auto thread = Decoding().of({end(10), end_range(20, 5), begin(30, 1), end(40)});
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(10));
  EXPECT_EQ(thread.counts.out_of_window, 2u);
  EXPECT_EQ(thread.counts.unmatched, 0u);
}

TEST(ThreadDecoder, LetsWhatNeverEndedLastToTheEndOfTheRecording) {
  const auto thread = Decoding().of({begin(10, 1), begin_range(20, 2)});
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(990, 980));
  EXPECT_THAT(flags_of(thread), ElementsAre(SpanFlags::kUnfinished, SpanFlags::kUnfinished));
  EXPECT_EQ(thread.counts.unfinished, 2u);
}

TEST(ThreadDecoder, LeavesOutWhatBeganOutsideTheWindows) {
  const auto thread = Decoding()
                          .windows({{100, 200, 0, 0}})
                          .of({begin(10, 1), begin_range(20, 2), begin(110, 3), end(120),
                               end_range(130, 1), end(140), begin(250, 4), end(260)});
  EXPECT_THAT(numbers(thread.spans.name), ElementsAre(3));
  EXPECT_THAT(numbers(thread.spans.parent), ElementsAre(kNone));
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(10));
  EXPECT_EQ(thread.counts.out_of_window, 3u);
}

TEST(ThreadDecoder, ClipsWhatEndsAfterItsWindow) {
  const auto thread = Decoding().windows({{100, 200, 0, 0}}).of({begin(150, 1), end(300)});
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(50));
  EXPECT_THAT(flags_of(thread), ElementsAre(SpanFlags::kUnfinished | SpanFlags::kEndedAfterWindow));
}

TEST(ThreadDecoder, TellsInWhichWindowEachSpanBegan) {
  const auto thread = Decoding()
                          .windows({{100, 200, 0, 0}, {300, 400, 1, 0}, {500, kEver, 2, 0}})
                          .of({begin(500, 1), end(510), begin(200, 2), end(210), begin(250, 3),
                               end(260), begin(300, 4), end(310)});
  EXPECT_THAT(numbers(thread.spans.name), ElementsAre(1, 2, 4));
  EXPECT_THAT(numbers(thread.spans.window), ElementsAre(2, 0, 1));
}

TEST(ThreadDecoder, EndsARangeWhereAnotherThreadEndedIt) {
  const auto thread = Decoding()
                          .ended_elsewhere(kChunkFirstWord, {.ticks = 70, .thread = 5})
                          .of({begin_range(10, 1), begin(20, 2), end(30)});
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(60, 10));
  EXPECT_THAT(numbers(thread.spans.parent), ElementsAre(kNone, kNone))
      << "it takes no part in nesting";
  EXPECT_THAT(thread.spans.ended_elsewhere, ElementsAre(::testing::Pair(0u, 5u)));
  EXPECT_EQ(thread.spans.flags[0], SpanFlags::kAsync);
}

TEST(ThreadDecoder, GivesATextToTheSpanBegunLast) {
  const auto thread =
      Decoding().of({begin(10, 1), extended(11, ExtendedKind::Text, text_payload("x=1")), end(20),
                     extended(30, ExtendedKind::RangeInline, text_payload("named in place")),
                     extended(31, ExtendedKind::Text, text_payload(""))});
  ASSERT_EQ(thread.notes.texts.size(), 2u);
  EXPECT_EQ(thread.notes.texts[0].span, 0u);
  EXPECT_EQ(thread.notes.texts[0].text, "x=1");
  EXPECT_EQ(thread.notes.texts[1].span, 1u);
  ASSERT_EQ(thread.notes.names.size(), 1u);
  EXPECT_EQ(thread.notes.names[0].text, "named in place");
}

std::uint64_t argument_head(std::uint64_t key, detail::ArgumentType type, std::uint64_t extra = 0) {
  return key | (static_cast<std::uint64_t>(type) << 32) | (extra << 40);
}

TEST(ThreadDecoder, GivesArgumentsToTheSpanOrInstantRecordedLast) {
  using enum detail::ArgumentType;
  const auto thread = Decoding().of(
      {begin(10, 1),
       extended(11, ExtendedKind::Arguments,
                {argument_head(2, Int), ~std::uint64_t{0}, argument_head(3, Bool, 1)}),
       extended(12, ExtendedKind::Instant, {4}),
       extended(13, ExtendedKind::Arguments, {argument_head(5, Category)}), end(20)});
  ASSERT_EQ(thread.notes.arguments.size(), 2u);
  EXPECT_EQ(thread.notes.arguments[0].key, 2u);
  EXPECT_EQ(json_value(thread.notes.arguments[0]), "-1");
  EXPECT_EQ(json_value(thread.notes.arguments[1]), "true");
  ASSERT_EQ(thread.notes.categories.size(), 1u);
  EXPECT_TRUE(thread.notes.categories[0].owner.is_instant);
  EXPECT_EQ(thread.notes.categories[0].name, 5u);
  EXPECT_EQ(thread.counts.undecodable, 0u);
}

TEST(ThreadDecoder, LeavesOutArgumentsThatMakeNoSense) {
  using enum detail::ArgumentType;
  const auto undecodable = [](const Words& payload) {
    const auto thread =
        Decoding().of({begin(10, 1), extended(11, ExtendedKind::Arguments, payload), end(20)});
    EXPECT_THAT(thread.notes.arguments, IsEmpty());
    return thread.counts.undecodable;
  };
  EXPECT_EQ(undecodable({argument_head(99, Uint), 5}), 1u) << "an unknown key";
  EXPECT_EQ(undecodable({argument_head(2, Double)}), 1u) << "no value";
  EXPECT_EQ(undecodable({argument_head(2, detail::ArgumentType{77}), 5, 5, 5}), 1u);
  EXPECT_EQ(undecodable({argument_head(2, detail::ArgumentType{0})}), 1u);
}

TEST(ThreadDecoder, PutsATextTogetherAndCountsItWhereItIsCut) {
  using enum detail::ArgumentType;
  const std::uint64_t abc = 0x6867666564636261;  // abcdefgh
  const auto thread =
      Decoding().of({begin(10, 1), extended(11, ExtendedKind::Text, {12, abc}),
                     extended(12, ExtendedKind::MoreText, {abc}), begin(13, 2),
                     extended(14, ExtendedKind::Arguments, {argument_head(3, Text, 100), abc}),
                     extended(15, ExtendedKind::Text, {~std::uint64_t{0}, abc}),
                     extended(16, ExtendedKind::MoreText, {abc, abc}), end(20), end(30)});
  ASSERT_EQ(thread.notes.texts.size(), 2u);
  EXPECT_EQ(thread.notes.texts[0].text, "abcdefghabcd");
  EXPECT_EQ(thread.notes.texts[1].text, "abcdefghabcdefghabcdefgh");
  ASSERT_EQ(thread.notes.arguments.size(), 1u);
  EXPECT_EQ(thread.notes.arguments[0].text, "abcdefgh");
  EXPECT_EQ(thread.notes.cut, 2u);
  EXPECT_EQ(thread.counts.undecodable, 0u);
}

TEST(ThreadDecoder, PassesOverTextThatGoesOnWithNothing) {
  const auto thread = Decoding()
                          .windows({{100, kEver, 0, 0}})
                          .of({begin(10, 1), extended(11, ExtendedKind::Text, {12, 1}),
                               extended(12, ExtendedKind::MoreText, {1}), end(20), begin(110, 1),
                               extended(111, ExtendedKind::Text, {2, 1}),
                               extended(112, ExtendedKind::MoreText, {1}), end(120)});
  EXPECT_EQ(thread.notes.texts.size(), 1u);
  EXPECT_EQ(thread.notes.cut, 0u);
  EXPECT_EQ(thread.counts.undecodable, 1u) << "that text was whole";
}

TEST(ThreadDecoder, GivesATextNeverToASpanFromBeforeAGap) {
  const auto thread = Decoding().of(std::vector<Piece>{
      piece(0, kChunkFirstWord, begin(10, 1)),
      piece(3, kChunkFirstWord, extended(50, ExtendedKind::Text, text_payload("x")))});
  EXPECT_THAT(thread.notes.texts, IsEmpty());
}

TEST(ThreadDecoder, CutsATextThatClaimsMoreBytesThanItHas) {
  const auto thread =
      Decoding().of({begin(10, 1), extended(11, ExtendedKind::Text, {~std::uint64_t{0}, 0x6261})});
  ASSERT_EQ(thread.notes.texts.size(), 1u);
  EXPECT_EQ(thread.notes.texts[0].text, std::string("ab\0\0\0\0\0\0", 8));
}

TEST(ThreadDecoder, KnowsTheSpanThatMomentsLieIn) {
  const auto thread = Decoding().of({extended(5, ExtendedKind::Instant, {1}), begin(10, 2),
                                     extended(15, ExtendedKind::Counter, {3, 0x3ff8000000000000}),
                                     extended(16, ExtendedKind::FlowOut, {77}), end(20),
                                     extended(25, ExtendedKind::FlowIn, {77})});
  ASSERT_EQ(thread.moments.instants.size(), 1u);
  EXPECT_EQ(thread.moments.instants[0].span, kNone);
  ASSERT_EQ(thread.moments.counters.size(), 1u);
  EXPECT_EQ(thread.moments.counters[0].value, 1.5);
  EXPECT_EQ(thread.moments.counters[0].span, 0u);
  ASSERT_EQ(thread.moments.flows.size(), 2u);
  EXPECT_TRUE(thread.moments.flows[0].out);
  EXPECT_EQ(thread.moments.flows[0].span, 0u);
  EXPECT_EQ(thread.moments.flows[1].span, kNone);
}

TEST(ThreadDecoder, CountsWhatItDoesNotUnderstandAndGoesOn) {
  const auto thread =
      Decoding().of({extended(5, ExtendedKind{0}, {}), extended(6, ExtendedKind{40}, {1, 2, 3}),
                     extended(7, ExtendedKind{63}, {}), extended(8, ExtendedKind::Counter, {1}),
                     extended(9, ExtendedKind::BeginRange, {}), begin(10, 1), end(20)});
  EXPECT_EQ(thread.counts.undecodable, 5u);
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(10));
}

TEST(ThreadDecoder, CountsAPayloadThatReachesPastItsPiece) {
  Words words = join({begin(10, 1), end(20), extended(30, ExtendedKind::Counter, {1, 2})});
  words.pop_back();
  const auto thread = Decoding().of({words});
  EXPECT_EQ(thread.counts.undecodable, 1u);
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(10));
}

TEST(ThreadDecoder, ShowsASpanWhoseNameIsUnknown) {
  const auto thread = Decoding().of({begin(10, 999), end(20)});
  EXPECT_THAT(numbers(thread.spans.name), ElementsAre(0));
  EXPECT_THAT(values_of(thread.spans.duration_ns), ElementsAre(10));
  EXPECT_EQ(thread.counts.undecodable, 1u);
}

TEST(ThreadDecoder, SurvivesPositionsAndTicksAtTheEndOfTheirRange) {
  for (const std::uint64_t sequence :
       {~std::uint64_t{0}, ~std::uint64_t{0} / detail::kChunkBytes}) {
    for (const std::uint64_t base : {std::uint64_t{0}, kEver, kEver / 2}) {
      Piece odd = piece(sequence, detail::kChunkBytes - 24,
                        join({begin_range(1, 1), begin(2, 2), end(0), end_range(9, 0)}));
      odd.head.base_ticks = base;
      const auto thread = Decoding().of(std::vector<Piece>{odd});
      EXPECT_EQ(thread.spans.start_ns.size(), 2u);
      for (const std::int64_t duration : values_of(thread.spans.duration_ns))
        EXPECT_GE(duration, 0);
    }
  }
}

// The following took hours with a search through all that is open.

TEST(ThreadDecoder, NeedsNoLongerForDeepNesting) {
  constexpr std::uint64_t kDepth = 300'000;
  Words words;
  for (std::uint64_t i = 0; i < kDepth; ++i) words.push_back(begin(10, 1)[0]);
  for (std::uint64_t i = 0; i < kDepth; ++i) words.push_back(end(20)[0]);
  const auto thread = Decoding().of({words});
  EXPECT_EQ(thread.spans.start_ns.size(), kDepth);
  EXPECT_EQ(values_of(thread.spans.parent).back().value(), kDepth - 2);
  EXPECT_EQ(thread.counts.unfinished, 0u);
}

TEST(ThreadDecoder, NeedsNoLongerForManyRangesThatEndInTheOrderTheyBegan) {
  constexpr std::uint32_t kRanges = 300'000;
  Words words;
  for (std::uint32_t i = 0; i < kRanges; ++i) words.insert(words.end(), {begin_range(10, 1)[0], 1});
  for (std::uint32_t i = 0; i < kRanges; ++i) {
    const Words ended = end_range(20, i * 2);
    words.insert(words.end(), ended.begin(), ended.end());
  }
  const auto thread = Decoding().of({words});
  EXPECT_EQ(thread.spans.start_ns.size(), kRanges);
  EXPECT_EQ(thread.counts.unfinished + thread.counts.out_of_window, 0u);
}

TEST(ThreadDecoder, NeedsNoLongerAboveManyScopesFromBeforeTheWindow) {
  constexpr std::uint64_t kOutside = 200'000;
  Words words(kOutside, begin(10, 1)[0]);
  for (std::uint64_t i = 0; i < kOutside; ++i) {
    words.push_back(begin(110, 2)[0]);
    words.push_back(end(120)[0]);
  }
  const auto thread = Decoding().windows({{100, 200, 0, 0}}).of({words});
  EXPECT_EQ(thread.spans.start_ns.size(), kOutside);
  EXPECT_EQ(values_of(thread.spans.parent).back().value(), kNone);
}

TEST(ThreadDecoder, NeedsNoLongerForManyWindows) {
  constexpr std::uint64_t kWindows = 200'000;
  std::vector<TickWindow> windows;
  Words words;
  for (std::uint64_t i = 0; i < kWindows; ++i) {
    windows.push_back({i * 100, i * 100 + 50, static_cast<std::uint32_t>(i), 0});
    words.push_back(begin(i * 100 + 60, 1)[0]);
    words.push_back(end(i * 100 + 70)[0]);
  }
  const auto thread = Decoding().windows(std::move(windows)).of({words});
  EXPECT_EQ(thread.counts.out_of_window, kWindows);
}

TEST(ThreadDecoder, KeepsWhatADeviceDidAsItWasTold) {
  const auto thread =
      Decoding().of({begin(10, 1), extended(11, ExtendedKind::ApiBegin, {2, 7}), end(12), end(13),
                     extended(20, ExtendedKind::DeviceSpan, {2, 100, 50, 7, 7}),
                     extended(21, ExtendedKind::DeviceSpan, {2, 100, 50})});
  EXPECT_THAT(numbers(thread.spans.parent), ElementsAre(kNone, 0));
  ASSERT_EQ(thread.devices.api_calls.size(), 1u);
  EXPECT_EQ(thread.devices.api_calls[0].span, 1u);
  EXPECT_EQ(thread.devices.api_calls[0].correlation, 7u);
  EXPECT_EQ(thread.devices.words.size(), 1u + 5u);
  EXPECT_EQ(thread.counts.undecodable, 1u) << "the last one is too short";
}

}  // namespace
}  // namespace sonde
