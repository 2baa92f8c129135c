// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>

#include "base/file.h"
#include "convert/gunzip.h"
#include "convert/size_limits.h"
#include "convert/testing/read_text.h"
#include "file/block_file.h"
#include "trace/testing/little_memory.h"
#include "trace/testing/sketch.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using testing::ledger_count;
using testing::TempDir;

const std::string kReal =
    std::string(SONDE_TEST_DATA) + "/torch-2.11-h200/graph_streams.pt.trace.json.gz";

std::string gzipped(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

class OpenTrace : public ::testing::Test {
 protected:
  Result<Trace> open(const std::string& content) {
    const std::string path = dir_.file("trace");
    std::ofstream(path, std::ios::binary) << content;
    return open_trace(path);
  }
  std::string message(const std::string& content) {
    const Result<Trace> trace = open(content);
    return trace ? "opened" : trace.error().message;
  }
  TempDir dir_;
};

const std::string kEvents = R"([{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1},
  {"ph": "X", "name": "b", "ts": 3, "dur": 1, "pid": 1, "tid": 1}])";

TEST_F(OpenTrace, TellsTheFormatByContent) {
  const Trace drawn = testing::read(kEvents);
  ASSERT_TRUE(save_trace(drawn, dir_.file("named.json")));
  const Result<Trace> sonde_file = open_trace(dir_.file("named.json"));
  ASSERT_TRUE(sonde_file);
  EXPECT_EQ(sonde_file->spans().size(), 2U);
  EXPECT_EQ(open(kEvents)->spans().size(), 2U);
  EXPECT_EQ(open("\xEF\xBB\xBF \n" + kEvents)->spans().size(), 2U);
  EXPECT_EQ(open(gzipped(kEvents))->spans().size(), 2U);
}

// The trailer has only the last member's length, so the text is moved while its beginning is read.
TEST_F(OpenTrace, ReadsGzipOfSeveralLongMembers) {
  std::string events = "[";
  for (int i = 0; i < 1500; ++i) {
    events += R"({"ph": "X", "name": ")" + std::string(12'000, 'n') +
              R"(", "pid": 1, "tid": 1, "dur": 1, "ts": )" + std::to_string(10 * i) + "},";
  }
  events.back() = ']';
  const std::size_t cut = events.size() / 3;
  const Result<Trace> trace = open(gzipped(events.substr(0, cut)) + gzipped(events.substr(cut)));
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->spans().size(), 1500U);
  EXPECT_TRUE(trace->ledger().empty());
  EXPECT_EQ(open(gzipped(events))->spans().size(), 1500U);
}

TEST_F(OpenTrace, ReadsGzipOfSeveralMembers) {
  const Result<Trace> trace =
      open(gzipped(kEvents.substr(0, 30)) + gzipped("") + gzipped(kEvents.substr(30)));
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->spans().size(), 2U);
  EXPECT_TRUE(trace->ledger().empty());
}

TEST_F(OpenTrace, KeepsWhatCameOutOfCutGzip) {
  const Result<std::string> whole = read_file(kReal);
  ASSERT_TRUE(whole);
  const Result<Trace> trace = open(whole->substr(0, whole->size() / 2));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_GT(trace->spans().size(), 10U);
  EXPECT_GE(ledger_count(*trace, LedgerKind::Truncated), 1U);
}

TEST_F(OpenTrace, KeepsWhatCameOutOfDamagedGzip) {
  Result<std::string> bytes = read_file(kReal);
  ASSERT_TRUE(bytes);
  for (std::size_t at = 10; at < bytes->size(); at += 97) {
    std::string damaged = *bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const Result<Trace> trace = open(damaged);
    if (trace) testing::dumped(*trace);
  }
}

TEST_F(OpenTrace, SaysWhatAFileIsThatIsNoTrace) {
  EXPECT_THAT(message(""), HasSubstr("is empty"));
  EXPECT_THAT(message(" \n "), HasSubstr("only white space"));
  EXPECT_THAT(message("\n<!DOCTYPE html><html>"), HasSubstr("an HTML or XML page at byte 1"));
  EXPECT_THAT(message("SQLite format 3 x"), HasSubstr("an SQLite database"));
  EXPECT_THAT(message("hello"), HasSubstr("text that is not JSON"));
  EXPECT_THAT(message(std::string("\x01\x02\x00\x03", 4)), HasSubstr("binary data"));
  EXPECT_THAT(message("\x1f\x8b\x08"), HasSubstr("ends inside its compressed data"));
  EXPECT_THAT(message("{"), HasSubstr("ends at byte 1"));
  const Result<Trace> folder = open_trace(dir_.path());
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("is a folder"));
  const Result<Trace> missing = open_trace(dir_.file("missing"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
}

TEST_F(OpenTrace, ReadsFilesOfWholePages) {
  std::string text = kEvents;
  text.resize(8192, ' ');
  EXPECT_EQ(open(text)->spans().size(), 2U);
  std::string cut = R"([{"ph": "X", "name": "a", "ts": 1}, {"ph": "X", "name": "b)";
  cut.resize(8192, 'x');
  EXPECT_EQ(ledger_count(*open(cut), LedgerKind::Truncated), 1U);
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST_F(OpenTrace, JudgesAGzipFileByItsBeginning) {
  const std::string zeros = repeated(gzipped(std::string(1 << 20, '\0')), 512);
  const auto work = [&] {
    testing::allow_more_memory(std::size_t{64} << 20);
    std::exit(message(zeros).ends_with("looks like binary data at byte 0") ? 0 : 1);
  };
  EXPECT_EXIT(work(), ::testing::ExitedWithCode(0), "");
}

TEST(Gunzip, StopsWhereTheTextIsLongerThanAllowed) {
  const std::string spaces = repeated(gzipped(std::string(1 << 20, ' ')), 8);
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(spaces.data()), spaces.size());
  EXPECT_TRUE(gunzip(bytes, nullptr, {.most_bytes = 8 << 20}));
  const Result<Gunzipped> refused = gunzip(bytes, nullptr, {.most_bytes = 4 << 20});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("expand to more than 4 MiB"));
  EXPECT_THAT(refused.error().message, HasSubstr("--no-size-limit"));
}

// Reads along, and must have stopped when the text is gone.
struct AlongReader final : InflateListener {
  void begins(const char*, std::size_t) override { is_reading = true; }
  void grows(std::size_t) override {}
  void moves() override { is_reading = false; }
  bool is_reading = false;
};

TEST(Gunzip, StopsWhoReadsAlongBeforeItGivesTheTextUp) {
  const std::string spaces = repeated(gzipped(std::string(1 << 20, ' ')), 8);
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(spaces.data()), spaces.size());
  AlongReader reader;
  const auto judge = [&](std::string_view) -> Result<bool> {
    EXPECT_TRUE(reader.is_reading);
    throw std::bad_alloc();
  };
  EXPECT_THROW(static_cast<void>(gunzip(bytes, &reader, {.judge = judge})), std::bad_alloc);
  EXPECT_FALSE(reader.is_reading);
  EXPECT_FALSE(gunzip(bytes, &reader, {.most_bytes = 4 << 20}));
  EXPECT_FALSE(reader.is_reading);
}

// The size in the file is that of its last member, so the text outgrows its place while it is read.
TEST_F(OpenTrace, ReadsATextThatIsLongerThanItsFileSays) {
  std::string events;
  for (int i = 0; i < 120'000; ++i)
    events += R"({"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": )" +
              std::to_string(i) +
              R"(, "dur": 1, "args": {"note": "x"}},)"
              "\n";
  const std::string text = R"({"traceEvents": [)" + events + events + events;
  const std::string rest = events.substr(0, events.size() - 2) + "]}";
  const Result<Trace> trace = open(gzipped(text) + gzipped(rest));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->spans().size(), 480'000U);
  EXPECT_TRUE(trace->ledger().empty());
}

TEST(SizeLimits, AreFarAboveWhatTracesTakeAndCanBeLifted) {
  EXPECT_EQ(most_inflated(1'000, {}), std::uint64_t{512} << 20);
  EXPECT_EQ(most_inflated(std::uint64_t{1} << 30, {}), std::uint64_t{100} << 30);
  EXPECT_EQ(most_inflated(1'000, {.limit_size = false}), std::numeric_limits<std::uint64_t>::max());
}

TEST_F(OpenTrace, RefusesASondeFileThatWouldFillTheMemory) {
  const std::string path = dir_.file("bomb.sonde");
  Result<BlockWriter> writer = BlockWriter::create(path);
  ASSERT_TRUE(writer);
  const std::vector<std::uint8_t> zeros(std::size_t{4} << 20);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(writer->append(BlockKind::Columns, zeros, true));
  ASSERT_TRUE(writer->seal());
  const Result<Trace> trace = open_trace(path);
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("bomb.sonde: its "));
  EXPECT_THAT(trace.error().message, HasSubstr(" would take about 1.2 GiB of memory"));
  EXPECT_TRUE(open_trace(path, {.limit_size = false})) << "its blocks are damaged";
}

}  // namespace
}  // namespace sonde
