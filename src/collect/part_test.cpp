// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reading a part of a recording by itself gives the same as cutting it out of the whole.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collect/testing/recorded.h"
#include "decode/open_sonde.h"
#include "decode/recording_reader.h"
#include "file/block_file.h"
#include "sonde/record.h"
#include "sonde/source/op.h"
#include "sonde/source/op_inputs.h"
#include "sonde/trace/part.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using testing::open_session;
using testing::TempDir;

// What a person sees of each span, without the numbers that count operators from the start.
std::vector<std::string> part_lines(const Trace& trace) {
  std::vector<std::string> all;
  const SpanTable& spans = trace.spans();
  for (const SpanId span : trace.all_spans()) {
    std::string line(trace.name(span));
    line += " " + std::to_string(spans.start_ns[span] - trace.first_ns());
    line += " " + std::to_string(spans.duration_ns[span]);
    line +=
        " " + std::string(to_string(spans.kind[span])) + " " + std::to_string(spans.flags[span]);
    line += " " + std::to_string(spans.track[span].value());
    line +=
        " in " + (spans.parent[span].valid() ? std::string(trace.name(spans.parent[span])) : "");
    line += " with " + std::to_string(trace.arguments(span).size());
    all.push_back(std::move(line));
  }
  for (std::size_t i = 0; i < trace.allocations().size(); ++i) {
    const SpanId span = trace.allocations().span[i];
    all.push_back("allocation " + std::to_string(trace.allocations().bytes[i]) + " in " +
                  (span.valid() ? std::string(trace.name(span)) : ""));
  }
  for (std::size_t i = 0; i < trace.extras().size(); ++i)
    all.push_back("extra " + std::string(trace.string(trace.extras().value[i])));
  const LedgerTable& ledger = trace.ledger();
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    if (trace.string(ledger.source[i]) == "part")
      all.push_back("left out " + std::to_string(ledger.count[i]));
  }
  return all;
}

void allocate_bytes(std::int64_t bytes) {
  const sonde_allocation row = {sizeof(row), 64, bytes, bytes, 0, 0, 0, -1};
  sonde_allocated(&row);
}

// Steps in a range that lasts throughout, and in each of them operators with inputs, laps, texts.
void train_steps(int steps) {
  const std::uint32_t name = sonde_name("aten::mm", 8);
  const std::uint32_t dtype = sonde_name("float", 5);
  const record_function all("whole program", "some text");
  SONDE_SCOPE("loop", "of", steps);
  OpInputs inputs;
  for (int step = 0; step < steps; ++step) {
    const record_function range("ProfilerStep#" + std::to_string(step));
    for (int i = 0; i < 40; ++i) {
      const sonde_op op = {sizeof(op), name, 0, -1, 0, 9};
      ASSERT_TRUE(sonde_op_begin(&op));
      const std::int64_t sizes[] = {step, i};
      inputs.clear();
      inputs.tensor(dtype, sizes, 2, sizes, 0);
      sonde_op_inputs(inputs.words(), inputs.word_count());
      allocate_bytes(i + 1);
      {
        SONDE_SCOPE("inner", "i", i);
      }
      sonde_end();
    }
  }
}

class RecordingPart : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_.emplace();
    path_ = dir_->file("part.sonde");
    const auto session = open_session({.output = path_});
    ASSERT_TRUE(session->begin_window(0));
    std::jthread other([] { train_steps(200); });
    train_steps(300);
    other.join();
    session->end_window();
    ASSERT_TRUE(session->close());
    file_.emplace(*BlockFile::open(path_));
    whole_ = *read_recording(*file_);
  }

  void expect_same(const TracePart& part) {
    const auto read = read_recording_part(*file_, part);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_TRUE(*read) << "was not read in part";
    const auto expected = part_of(whole_, part);
    ASSERT_TRUE(expected) << expected.error().message;
    const std::vector<std::string> found = part_lines(**read);
    const std::vector<std::string> wanted = part_lines(*expected);
    EXPECT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < std::min(found.size(), wanted.size()); ++i)
      ASSERT_EQ(found[i], wanted[i]) << "line " << i;
  }

  static void TearDownTestSuite() {
    whole_ = Trace();
    file_.reset();
    dir_.reset();
  }

  static inline std::optional<TempDir> dir_;
  static inline std::string path_;
  static inline std::optional<BlockFile> file_;
  static inline Trace whole_;
};

TEST_F(RecordingPart, OfOneStepIsWhatIsLeftOfTheWhole) {
  for (const std::int64_t step : {0, 1, 150, 299}) expect_same({.steps = std::pair(step, step)});
}

TEST_F(RecordingPart, OfSomeTimeIsWhatIsLeftOfTheWhole) {
  const Nanos length = whole_.last_ns() - whole_.first_ns();
  for (int i = 1; i < 8; ++i) {
    const Nanos from = length * i / 8;
    expect_same({.from_ns = from, .to_ns = from + length / 100});
    expect_same({.from_ns = from, .to_ns = from});
  }
  expect_same({.last_ns = length / 10});
  expect_same({.from_ns = length / 3});
  expect_same({.to_ns = length / 3});
}

TEST_F(RecordingPart, OfOneThreadIsWhatIsLeftOfTheWhole) {
  const std::string thread = std::to_string(whole_.tracks().id[1]);
  expect_same({.steps = std::pair(100L, 101L), .threads = {thread}});
}

TEST_F(RecordingPart, WithoutMeaningIsLeftToTheWhole) {
  auto file = *BlockFile::open(path_);
  const auto none = read_trace_part(file, {.steps = std::pair(900L, 901L)});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "no such step; the trace has steps 0 to 299");
}

}  // namespace
}  // namespace sonde
