// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A text that is read while it is inflated gives the same trace as one that is read at once.
//
//   |── 4 MiB ──|── 4 MiB ──|── …      text
//   |=== part 0 ===|                   read as soon as there is 1 MiB of text after it

#include "convert/kineto/read/stretches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/gunzip.h"
#include "convert/json/json_bytes.h"
#include "convert/kineto/read/read_kineto.h"
#include "convert/testing/read_in_parts.h"
#include "convert/testing/read_text.h"

namespace sonde {
namespace {

using testing::dumped;
using testing::read;

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::string event(std::size_t number, std::size_t bytes = 4096) {
  const std::string digits = std::to_string(number);
  std::string text = R"({"ph": "X", "cat": "cpu_op", "name": "op )" + digits +
                     R"(", "pid": 1, "tid": 1, "ts": )" + digits +
                     R"(, "dur": 1, "args": {"note": ")";
  text.append(bytes > text.size() ? bytes - text.size() : 1, 'x');
  return text + "\"}},\n";
}

// Cheaper than a dump: the notes are long.
std::string outline(const Trace& trace) {
  std::string text;
  for (const SpanId span : trace.all_spans()) {
    text += std::string(trace.name(span)) + " " + std::to_string(trace.spans().start_ns[span]) +
            " " + std::to_string(trace.arguments(span).size()) + "\n";
  }
  for (std::size_t i = 0; i < trace.extras().size(); ++i)
    text += std::to_string(trace.string(trace.extras().value[i]).size()) + "\n";
  for (std::size_t i = 0; i < trace.ledger().size(); ++i) {
    text += std::string(to_string(trace.ledger().kind[i])) + " " +
            std::to_string(trace.ledger().count[i]) + " " +
            std::string(trace.string(trace.ledger().detail[i])) + "\n";
  }
  return text;
}

// Makes events until there are `bytes` of text. `odd` is put across the first end of a part after
// each of `places`.
std::string document(std::size_t bytes, std::string_view odd = {},
                     std::vector<std::size_t> places = {}) {
  std::string text =
      R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "X"}], "traceEvents": [)";
  for (std::size_t number = 1; text.size() < bytes; ++number) {
    if (!places.empty() && text.size() + 8192 > places.front()) {
      text += odd;
      places.erase(places.begin());
    }
    text += event(number);
  }
  text.resize(text.size() - 2);
  return text + R"(], "traceName": "x"})";
}

// What was read early, and its trace, when the text arrives in steps of `step` bytes.
struct Early {
  std::size_t readings = 0;
  Trace trace;
  std::size_t given_back = 0;  // bytes of the text
};
Early read_early(const std::string& text, std::size_t step, unsigned threads = 2,
                 ReadText read_text = ReadText::Stays) {
  auto bytes = PaddedBytes::with_capacity(text.size());
  EXPECT_TRUE(bytes);
  EarlyStretches early(threads, read_text);
  early.begins(bytes->begin(), text.size());
  for (std::size_t at = 0; at < text.size(); at += step) {
    const std::size_t count = std::min(step, text.size() - at);
    auto room = bytes->room(count);
    std::memcpy(room->data(), text.data() + at, count);
    bytes->add(count);
    early.grows(at + count);
  }
  std::vector<Reading> readings = early.finish(bytes->text());
  const std::size_t count = readings.size();
  auto trace = read_kineto(bytes->text(), "text", TraceBuilder(), threads, std::move(readings));
  EXPECT_TRUE(trace) << trace.error().message;
  const std::string_view left = bytes->text();
  return {count, trace ? *trace : Trace(),
          static_cast<std::size_t>(std::count(left.begin(), left.end(), '\0'))};
}

TEST(EarlyStretches, GiveTheSameTraceHoweverTheTextComes) {
  const std::string text = document(10 * kMiB);
  const std::string expected = outline(read(text));
  for (const std::size_t step : {text.size(), 3 * kMiB + 7}) {
    for (const unsigned threads : {2U, 4U}) {
      const Early early = read_early(text, step, threads);
      EXPECT_EQ(early.readings, 3U) << step;
      EXPECT_EQ(outline(early.trace), expected) << step << " " << threads;
    }
  }
}

// An event reaches past the text that was available: only its part is read again.
TEST(EarlyStretches, ReadAgainWhatWasNotAllThere) {
  const std::string text = document(10 * kMiB, event(0, 3 * kMiB), {4 * kMiB});
  EXPECT_EQ(outline(read_early(text, kMiB).trace), outline(read(text)));
}

TEST(EarlyStretches, CountWhatIsBrokenOnce) {
  const std::string text =
      document(10 * kMiB, R"({"ph": "X", "name" "b"}, )", {4 * kMiB, 6 * kMiB});
  const Early early = read_early(text, kMiB);
  EXPECT_EQ(testing::ledger_count(early.trace, LedgerKind::Undecodable), 2U);
  EXPECT_EQ(outline(early.trace), outline(read(text)));
}

TEST(EarlyStretches, GiveBackTextThatNothingRefersTo) {
  std::string text = R"({"schemaVersion": 1, "traceEvents": [)";
  for (std::size_t number = 1; text.size() < 16 * kMiB; ++number) text += event(number % 100);
  text.replace(text.size() - 2, 2, R"(], "traceName": "x"})");
  const std::string expected = outline(read(text));
  for (const unsigned threads : {2U, 4U}) {
    const Early early = read_early(text, kMiB, threads, ReadText::IsGivenBack);
    EXPECT_EQ(outline(early.trace), expected);
    EXPECT_GT(early.given_back, 8 * kMiB);
  }
}

TEST(EarlyStretches, KeepTextThatIsReadAgain) {
  const std::vector<std::string> texts = {
      document(10 * kMiB, event(0, 3 * kMiB), {4 * kMiB}),
      document(10 * kMiB, R"({"ph": "X", "name" "b"}, )", {4 * kMiB, 6 * kMiB}),
      // What looks like the key of the events, but is in a string.
      R"({"note": "\"traceEvents\": [{\"ph\": 1", )" + document(10 * kMiB).substr(1)};
  for (const std::string& text : texts) {
    EXPECT_EQ(outline(read_early(text, kMiB, 2, ReadText::IsGivenBack).trace), outline(read(text)));
  }
}

TEST(EarlyStretches, OfACutTextHaveWhatCame) {
  const std::string text = document(10 * kMiB);
  const std::string cut = text.substr(0, 9 * kMiB);
  EXPECT_EQ(outline(read_early(cut, kMiB).trace), outline(read(cut)));
}

TEST(EarlyStretches, OfSomethingElseAreNone) {
  EXPECT_EQ(read_early("[" + document(kMiB) + "]", kMiB).readings, 0U)
      << "too little to be worth it";
  const auto spaces = PaddedBytes::copy_of(std::string(12 * kMiB, ' '));
  EarlyStretches early(2);
  early.begins(spaces->begin(), spaces->text().size());
  early.grows(spaces->text().size());
  EXPECT_TRUE(early.finish(spaces->text()).empty());
}

TEST(EarlyStretches, AreForgottenWhenTheTextMoves) {
  const auto bytes = PaddedBytes::copy_of(document(12 * kMiB));
  EarlyStretches early(3);
  early.begins(bytes->begin(), bytes->text().size());
  early.grows(8 * kMiB);
  early.moves();
  EXPECT_TRUE(early.finish(bytes->text()).empty());
}

// These recordings are cut in thousands of places, also between spans and their arrows.
class Recording : public ::testing::TestWithParam<const char*> {};
TEST_P(Recording, IsTheSameHoweverItIsCut) {
  const auto file = PaddedBytes::map_file(std::string(SONDE_TEST_DATA) + "/torch-2.11-h200/" +
                                          GetParam() + ".pt.trace.json.gz");
  ASSERT_TRUE(file);
  const auto gunzipped = gunzip(file->bytes());
  ASSERT_TRUE(gunzipped);
  const std::string_view text = gunzipped->text.text();
  const auto cut = testing::read_in_parts(text, {997, 8000, 64});
  ASSERT_TRUE(cut);
  EXPECT_EQ(dumped(*cut), dumped(read(text)));
}
INSTANTIATE_TEST_SUITE_P(OfTorch, Recording,
                         ::testing::Values("compiled", "graph_streams", "transformer"));

}  // namespace
}  // namespace sonde
