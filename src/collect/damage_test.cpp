// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A session's file that is cut or damaged anywhere can still be read.

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "base/file.h"
#include "collect/testing/recorded.h"
#include "decode/recording_reader.h"
#include "sonde/record.h"
#include "trace/testing/deep.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using testing::ledger_sum;
using testing::open_session;
using testing::record_window;
using testing::TempDir;
using Bytes = std::vector<std::uint8_t>;

// A real recording with a record of every kind.
Bytes real_recording() {
  const TempDir dir;
  const std::string path = dir.file("real.sonde");
  const auto session = open_session({.output = path, .crash_safe = false});
  EXPECT_TRUE(session->set_metadata("model", R"({"layers": 12})"));
  record_window(*session, [] {
    SONDE_SCOPE("outer");
    const Flow flow;
    flow.out();
    const record_function step("ProfilerStep#3", "x = 1");
    SONDE_COUNTER("loss", 0.5);
    SONDE_INSTANT("now");
    const AsyncScope request = SONDE_ASYNC("request");
    Laps laps;
    SONDE_LAP(laps, "one");
    SONDE_LAP(laps, "two");
    flow.in();
  });
  EXPECT_TRUE(session->close());
  const auto text = read_file(path);
  EXPECT_TRUE(text);
  return {text->begin(), text->end()};
}

constexpr std::size_t kRealSpans = 5;

TEST(DamagedRecording, OpensCutAtAnyByte) {
  const Bytes bytes = real_recording();
  std::size_t best = 0;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const auto file = BlockFile::parse(std::span(bytes).first(size), "cut");
    if (!file) {
      EXPECT_FALSE(file.error().message.empty());
      EXPECT_LT(size, kFileHeaderBytes);
      continue;
    }
    const auto trace = read_recording(*file);
    ASSERT_TRUE(trace) << size << ": " << trace.error().message;
    EXPECT_EQ(ledger_sum(*trace, LedgerKind::Truncated) > 0, size < bytes.size()) << size;
    EXPECT_GE(trace->spans().size(), best) << "a longer file holds no less";
    best = trace->spans().size();
  }
  EXPECT_EQ(best, kRealSpans);
}

TEST(DamagedRecording, IsReadWithAnyBitFlipped) {
  const Bytes bytes = real_recording();
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += testing::deep_or(1U, 17U)) {
    Bytes damaged = bytes;
    damaged[bit / 8] = static_cast<std::uint8_t>(damaged[bit / 8] ^ (1u << (bit % 8)));
    const auto file = BlockFile::parse(damaged, "flipped");
    if (!file) continue;
    const auto trace = read_recording(*file);
    const std::size_t spans = trace ? trace->spans().size() : 0;
    ASSERT_LE(spans, kRealSpans) << bit;
  }
}

}  // namespace
}  // namespace sonde
