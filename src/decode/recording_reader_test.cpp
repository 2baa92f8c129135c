// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/recording_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <limits>

#include "base/output_file.h"
#include "collect/testing/recorded.h"
#include "decode/recording_blocks.h"
#include "decode/testing/hand_made_recording.h"
#include "trace/testing/temp_dir.h"
#include "wire/blocks.h"
#include "wire/live_file.h"
#include "wire/testing/hand_made.h"

namespace sonde {
namespace {

using detail::ExtendedKind;
using detail::kChunkFirstWord;
using detail::make_position;
using testing::begin;
using testing::Bytes;
using testing::end;
using testing::events_piece;
using testing::extended;
using testing::find_span;
using testing::HandMadeRecording;
using ::testing::HasSubstr;
using testing::join;
using testing::join_bytes;
using testing::ledger_sum;
using testing::name_entry;
using testing::TempDir;
using testing::text_payload;
using testing::thread_entry;
using testing::Words;

constexpr std::uint64_t kRecordedStream = 77;

EventsHead head_of(std::uint64_t thread, std::uint64_t sequence = 0) {
  EventsHead head;
  head.thread = thread;
  head.sequence = sequence;
  head.first_offset = kChunkFirstWord;
  return head;
}

// One thread with a scope "work" from 100 to 200; a tick is a nanosecond.
HandMadeRecording small_recording() {
  HandMadeRecording recording;
  recording.dictionary(join_bytes({thread_entry(1, 4711, "worker"), name_entry(5, "work")}));
  recording.events(events_piece(head_of(1), join({begin(100, 5), end(200)})));
  return recording;
}

Trace read(const HandMadeRecording& recording, const RecordingFilter& filter = {}) {
  const Bytes bytes = recording.bytes();
  const auto file = BlockFile::parse(bytes, "made.sonde");
  EXPECT_TRUE(file) << file.error().message;
  auto trace = read_recording(*file, filter);
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? *trace : Trace();
}

TEST(RecordingReader, TurnsWordsIntoSpansWithNamesAndTracks) {
  const Trace trace = read(small_recording());
  ASSERT_EQ(trace.spans().size(), 1u);
  EXPECT_EQ(trace.name(SpanId(0)), "work");
  EXPECT_EQ(trace.spans().start_ns[0], 100);
  EXPECT_EQ(trace.spans().duration_ns[0], 100);
  EXPECT_EQ(trace.string(trace.tracks().name[trace.spans().track[0]]), "worker");
  EXPECT_EQ(trace.tracks().id[0], 4711);
}

TEST(RecordingReader, ReadsABlockThatComesTwiceOnce) {
  HandMadeRecording recording = small_recording();
  recording.events(events_piece(head_of(1), join({begin(100, 5), end(200)})));
  EXPECT_EQ(read(recording).spans().size(), 1u);
}

TEST(RecordingReader, FindsNamesThatComeAfterTheirEvents) {
  HandMadeRecording recording;
  recording.events(events_piece(head_of(1), join({begin(100, 5), end(200)})));
  recording.dictionary(name_entry(5, "late"));
  EXPECT_EQ(read(recording).name(SpanId(0)), "late");
}

TEST(RecordingReader, ShowsSpansWhoseDictionaryIsMissing) {
  HandMadeRecording recording;
  recording.events(events_piece(head_of(1), join({begin(100, 5), end(200)})));
  const Trace trace = read(recording);
  ASSERT_EQ(trace.spans().size(), 1u);
  EXPECT_EQ(trace.name(SpanId(0)), "");
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Undecodable), 1u);
}

TEST(RecordingReader, KeepsThePiecesBeforeOneThatMakesNoSense) {
  HandMadeRecording recording = small_recording();
  Bytes broken = events_piece(head_of(2), join({begin(100, 5), end(200)}));
  broken.pop_back();
  recording.events(join_bytes({events_piece(head_of(3), join({begin(100, 5), end(200)})), broken}));
  const Trace trace = read(recording);
  EXPECT_EQ(trace.spans().size(), 2u);
  EXPECT_GT(ledger_sum(trace, LedgerKind::DamagedBytes), 0u);
}

TEST(RecordingReader, RefusesAPieceThatReachesPastItsChunk) {
  HandMadeRecording recording = small_recording();
  EventsHead head = head_of(1, 1);
  head.first_offset = detail::kChunkBytes - 8;
  recording.events(events_piece(head, join({begin(300, 5), end(400)})));
  const Trace trace = read(recording);
  EXPECT_EQ(trace.spans().size(), 1u);
  EXPECT_GT(ledger_sum(trace, LedgerKind::DamagedBytes, "a piece claims"), 0u);
}

TEST(RecordingReader, LeavesOutAnchorsThatMakeNoSense) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
  HandMadeRecording recording = small_recording();
  recording.anchor({1, kLow, kHigh, 0});
  recording.anchor({50, 1'000, 5'000, 0});
  recording.anchor({~std::uint64_t{0}, kHigh, kLow, ~std::uint64_t{0}});
  recording.anchor({150, 1'200, 5'200, 0});
  const Trace trace = read(recording);
  EXPECT_EQ(trace.spans().start_ns[0], 5'100);
  EXPECT_EQ(trace.spans().duration_ns[0], 200);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Undecodable), 2u);
}

TEST(RecordingReader, ShowsAllOfAFileWhoseWindowsMakeNoSense) {
  HandMadeRecording recording = small_recording();
  recording.window({0, 0, 500, 0});
  recording.window({0, 1, 400, 0});
  recording.window({9, 1, 700, 0});
  EXPECT_EQ(read(recording).spans().size(), 1u);
}

TEST(RecordingReader, EndsAWindowWithoutAnEndWhereTheNextBegins) {
  HandMadeRecording recording = small_recording();
  recording.window({0, 0, 50, 10});
  recording.window({1, 0, 150, 20});
  recording.window({1, 1, 300, 20});
  const Trace trace = read(recording);
  ASSERT_EQ(trace.windows().size(), 2u);
  EXPECT_EQ(trace.windows().end_ns[0], 149);
  EXPECT_EQ(trace.windows().first_step[1], 20);
  EXPECT_EQ(trace.spans().duration_ns[0], 49);
}

TEST(RecordingReader, SaysThatAWindowIsNotThere) {
  const Bytes bytes = small_recording().bytes();
  const auto file = BlockFile::parse(bytes, "made.sonde");
  const auto trace = read_recording(*file, {.window = 3, .still_written = true});
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ErrorCode::NotFound);
}

TEST(RecordingReader, ReadsManyWindowsInATimeThatGrowsWithTheirNumber) {
  constexpr std::uint32_t kWindows = 50'000;
  HandMadeRecording recording = small_recording();
  for (std::uint32_t i = 0; i < kWindows; ++i) {
    recording.window({i, 0, 1'000 + i * 10ull, i});
    recording.window({i, 1, 1'005 + i * 10ull, i});
  }
  const Trace trace = read(recording);
  ASSERT_EQ(trace.windows().size(), kWindows);
  EXPECT_EQ(trace.windows().first_step[kWindows - 1], kWindows - 1);
}

TEST(RecordingReader, JoinsWhatOneThreadBeganAndAnotherEnded) {
  HandMadeRecording recording;
  recording.dictionary(join_bytes({name_entry(5, "request"), name_entry(6, "range")}));
  recording.events(events_piece(head_of(1), join({extended(100, ExtendedKind::AsyncBegin, {5, 42}),
                                                  extended(110, ExtendedKind::BeginRange, {6})})));
  recording.events(
      events_piece(head_of(2), join({extended(150, ExtendedKind::AsyncEnd, {42}),
                                     extended(160, ExtendedKind::EndRangeOf,
                                              {make_position(0, kChunkFirstWord + 3 * 8), 1})})));
  const Trace trace = read(recording);
  const SpanId request = find_span(trace, "request");
  EXPECT_EQ(trace.spans().duration_ns[request], 50);
  EXPECT_EQ(trace.spans().kind[request], SpanKind::Async);
  const SpanId range = find_span(trace, "range");
  EXPECT_EQ(trace.spans().duration_ns[range], 50);
  EXPECT_EQ(trace.spans().end_track[range], trace.spans().end_track[request]);
  EXPECT_NE(trace.spans().end_track[range], trace.spans().track[range]);
}

TEST(RecordingReader, DrawsAFlowFromWhereItLeftToEveryPlaceItArrived) {
  HandMadeRecording recording;
  recording.dictionary(name_entry(5, "work"));
  recording.events(events_piece(
      head_of(1), join({begin(100, 5), extended(110, ExtendedKind::FlowOut, {9}), end(120)})));
  recording.events(
      events_piece(head_of(2), join({begin(200, 5), extended(210, ExtendedKind::FlowIn, {9}),
                                     end(220), extended(230, ExtendedKind::FlowIn, {9})})));
  const Trace trace = read(recording);
  ASSERT_EQ(trace.flows().size(), 2u);
  EXPECT_EQ(trace.spans().start_ns[trace.flows().from_span[0]], 100);
  EXPECT_EQ(trace.spans().start_ns[trace.flows().to_span[0]], 200);
  EXPECT_FALSE(trace.flows().to_span[1].valid());
}

TEST(RecordingReader, KnowsAStepAlsoByANameWrittenInPlace) {
  HandMadeRecording recording;
  recording.events(events_piece(
      head_of(1), extended(100, ExtendedKind::RangeInline, text_payload("ProfilerStep#12"))));
  const Trace trace = read(recording);
  const SpanId span = find_span(trace, "ProfilerStep#12");
  EXPECT_EQ(trace.spans().kind[span], SpanKind::Step);
  EXPECT_EQ(trace.spans().step[span], 12);
}

TEST(RecordingReader, KeepsTheLastValueOfMetadataAndCountsWhatIsNotJson) {
  HandMadeRecording recording = small_recording();
  recording.metadata("a", "1");
  recording.metadata("a", "2");
  recording.metadata("b", "{");
  const Trace trace = read(recording);
  ASSERT_EQ(trace.metadata().size(), 1u);
  EXPECT_EQ(trace.string(trace.metadata().value[0]), "2");
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Undecodable), 1u);
}

TEST(RecordingReader, StopsAtWhatExpandsBeyondMeasure) {
  constexpr std::uint32_t kBlocks = 40;
  HandMadeRecording recording;
  recording.compressed = true;
  Words words;
  for (std::uint32_t id = 1; id <= kBlocks; ++id) {
    Bytes entry = name_entry(id, "named");
    const std::uint32_t size = kMaxBlockBytes;
    std::memcpy(entry.data(), &size, sizeof(size));
    entry.resize(size);
    recording.dictionary(std::move(entry));
    words.push_back(begin(id, id)[0]);
  }
  recording.events(events_piece(head_of(1), words));
  const Trace trace = read(recording);
  EXPECT_GT(ledger_sum(trace, LedgerKind::DamagedBytes, "expands to more"), 0u);
  const std::size_t named = testing::count_spans(trace, "named");
  EXPECT_GT(named, 10u);
  EXPECT_LT(named, kBlocks);

  const Bytes bytes = recording.bytes();
  auto file = BlockFile::parse(bytes, "made.sonde");
  ASSERT_TRUE(file);
  file->lift_size_limits();
  const auto trusted = read_recording(*file);
  ASSERT_TRUE(trusted);
  EXPECT_EQ(testing::count_spans(*trusted, "named"), kBlocks);
}

// A file that was cut short, with live buffers that hold one more span, "live", of the same thread.
class KilledRecording : public ::testing::Test {
 protected:
  KilledRecording() {
    process.stream = kRecordedStream;
    process.live_name = "run.sonde.live";
    process.live_path = dir.file("elsewhere.live");
  }
  // Returns the file's id.
  std::string write() {
    HandMadeRecording recording = small_recording();
    recording.process(process);
    return recording.write(dir.file("run.sonde"), sealed).id();
  }
  Trace open() {
    write();
    return open_written();
  }
  Trace open_written() {
    auto trace = open_sonde(dir.file("run.sonde"));
    EXPECT_TRUE(trace) << trace.error().message;
    return trace ? *trace : Trace();
  }
  void write_live(const std::string& name, std::uint64_t stream = kRecordedStream) {
    testing::LiveChunks live(stream);
    live.dictionary(name_entry(6, "live"));
    live.events(1, 1, join({begin(300, 6), end(400)}));
    ASSERT_TRUE(write_file_whole(dir.file(name), live.bytes()));
  }

  // The same with what the session of this file lost.
  void write_live_with(LiveLedger ledger, const std::string& file_id) {
    testing::LiveChunks live(kRecordedStream);
    live.dictionary(name_entry(6, "live"));
    live.events(1, 1, join({begin(300, 6), end(400)}));
    std::memcpy(ledger.sessions[1].file_id, file_id.data(), sizeof(ledger.sessions[1].file_id));
    live.ledger(ledger);
    ASSERT_TRUE(write_file_whole(dir.file("run.sonde.live"), live.bytes()));
  }

  const TempDir dir;
  ProcessBlock process;
  bool sealed = false;
};

TEST_F(KilledRecording, CountsWhatTheOpenWindowLost) {
  LiveLedger ledger;
  ledger.losses = {10, 20, 30, 40, 50};
  ledger.sessions[1].base = {1, 2, 3, 4, 5};
  ledger.sessions[1].lost = {100, 100, 100, 100, 100};
  ledger.sessions[1].is_open = 1;
  write_live_with(ledger, write());
  const Trace trace = open_written();
  EXPECT_EQ(ledger_sum(trace, LedgerKind::DroppedByBudget, "spans"), 18u) << "two events each";
  EXPECT_EQ(ledger_sum(trace, LedgerKind::DroppedByBudget, "ends"), 18u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::DroppedByBudget, "instants"), 27u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::DroppedInSignal), 36u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Overwritten), 45u);
}

TEST_F(KilledRecording, CountsWhatClosedWindowsLost) {
  LiveLedger ledger;
  ledger.losses = {10, 20, 30, 40, 50};
  ledger.sessions[1].lost = {1, 0, 0, 0, 7};
  write_live_with(ledger, write());
  const Trace trace = open_written();
  EXPECT_EQ(ledger_sum(trace, LedgerKind::DroppedByBudget), 2u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Overwritten), 7u);
}

TEST_F(KilledRecording, KeepsNothingAfterItsBudgetWasUsedUp) {
  LiveLedger ledger;
  ledger.sessions[1].dropped = 1000;
  ledger.sessions[1].spent_ticks = 250;
  write_live_with(ledger, write());
  const Trace trace = open_written();
  EXPECT_EQ(trace.spans().size(), 1u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::DroppedByBudget), 1002u) << "two were not counted yet";
}

TEST_F(KilledRecording, LosesNoEventsBlockThatTheBuffersHold) {
  const auto damage_if_cut = [&](BlockKind last) {
    HandMadeRecording recording = small_recording();
    recording.process(process);
    recording.add(last, events_piece(head_of(1, 1), join({begin(300, 6), end(400)})));
    const std::string path = dir.file("run.sonde");
    recording.write(path, false);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 8);
    return ledger_sum(open_written(), LedgerKind::DamagedBytes);
  };
  EXPECT_GT(damage_if_cut(BlockKind::Events), 0u);
  write_live("run.sonde.live");
  EXPECT_EQ(damage_if_cut(BlockKind::Events), 0u);
  EXPECT_GT(damage_if_cut(BlockKind::Metadata), 0u) << "which they do not hold";
}

TEST_F(KilledRecording, IsCompletedFromTheBuffersBesideIt) {
  write_live("run.sonde.live");
  const Trace trace = open();
  ASSERT_EQ(trace.spans().size(), 2u);
  EXPECT_EQ(trace.spans().start_ns[find_span(trace, "live")], 300);
  EXPECT_EQ(trace.tracks().size(), 1u);
}

// A chunk of the buffers may be too small for a name, which is then cut there.
TEST_F(KilledRecording, HasNamesWholeThatItsFileHasWhole) {
  testing::LiveChunks live(kRecordedStream);
  live.dictionary(
      join_bytes({testing::dictionary_entry(
                      {.kind = DictionaryKind::Name, .id = 5, .name = "wor", .is_cut = true}),
                  testing::dictionary_entry(
                      {.kind = DictionaryKind::Name, .id = 6, .name = "liv", .is_cut = true})}));
  live.events(1, 1, join({begin(300, 6), end(400)}));
  ASSERT_TRUE(write_file_whole(dir.file("run.sonde.live"), live.bytes()));
  const Trace trace = open();
  find_span(trace, "work");
  find_span(trace, "liv");
  EXPECT_EQ(ledger_sum(trace, LedgerKind::TextsCut), 1u);
}

TEST_F(KilledRecording, IsCompletedFromTheBuffersWhereTheyWere) {
  write_live("elsewhere.live");
  EXPECT_EQ(open().spans().size(), 2u);
}

TEST_F(KilledRecording, SaysThatItsBuffersAreMissing) {
  const Trace trace = open();
  EXPECT_EQ(trace.spans().size(), 1u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Truncated, "what was still in memory is missing"), 1u);
}

TEST_F(KilledRecording, TakesNoBuffersOfAnotherRecording) {
  write_live("run.sonde.live", kRecordedStream + 1);
  const Trace trace = open();
  EXPECT_EQ(trace.spans().size(), 1u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Truncated, "what was still in memory is missing"), 1u);
}

TEST_F(KilledRecording, LooksForItsBuffersOnlyBesideIt) {
  std::filesystem::create_directory(dir.file("secret"));
  write_live("secret/run.sonde.live");
  process.live_name = "secret/run.sonde.live";
  EXPECT_EQ(open().spans().size(), 1u);
}

TEST_F(KilledRecording, DoesNotWaitForAPipe) {
  ASSERT_EQ(::mkfifo(dir.file("elsewhere.live").c_str(), 0600), 0);
  EXPECT_EQ(open().spans().size(), 1u);
}

TEST_F(KilledRecording, NeedsNoBuffersOnceItIsWhole) {
  write_live("run.sonde.live");
  sealed = true;
  EXPECT_EQ(open().spans().size(), 1u);
}

TEST_F(KilledRecording, IsMeasuredWithItsBuffers) {
  open();
  const auto alone = bytes_to_decode(*BlockFile::open(dir.file("run.sonde")));
  write_live("run.sonde.live");
  EXPECT_GT(bytes_to_decode(*BlockFile::open(dir.file("run.sonde"))), alone);
}

TEST_F(KilledRecording, OutlineHasTheLedgerAndNoEvent) {
  write_live("run.sonde.live");
  open();
  const auto outline = read_recording(*BlockFile::open(dir.file("run.sonde")), {.outline = true});
  ASSERT_TRUE(outline) << outline.error().message;
  EXPECT_EQ(outline->spans().size(), 0u);
  EXPECT_EQ(outline->processes().size(), 1u);
}

TEST_F(KilledRecording, RemovesOnlyTheBuffersThatAreItsOwn) {
  open();
  const auto file = BlockFile::open(dir.file("run.sonde"));
  ASSERT_TRUE(file);
  write_live("run.sonde.live", kRecordedStream + 1);
  write_live("elsewhere.live");
  remove_live_file(*file);
  EXPECT_TRUE(std::filesystem::exists(dir.file("run.sonde.live")));
  EXPECT_FALSE(std::filesystem::exists(dir.file("elsewhere.live")));
}

}  // namespace
}  // namespace sonde
