// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A recording that ended properly states how much it holds, and the numbers match what decoding it
// gives.

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "collect/testing/recorded.h"
#include "decode/open_sonde.h"
#include "decode/recording_blocks.h"
#include "decode/recording_reader.h"
#include "file/block_file.h"
#include "sonde/record.h"
#include "sonde/source/op.h"
#include "sonde/source/op_inputs.h"
#include "trace/lazy_trace.h"
#include "trace/testing/temp_dir.h"
#include "wire/piece_mark.h"

namespace sonde {
namespace {

using testing::open_session;
using testing::TempDir;

std::string ledger_text(const Trace& trace) {
  std::string text;
  const LedgerTable& ledger = trace.ledger();
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    text += std::string(to_string(ledger.kind[i])) + " " + std::to_string(ledger.count[i]) + " " +
            std::string(trace.string(ledger.source[i])) + " " +
            std::string(trace.string(ledger.detail[i])) + "\n";
  }
  return text;
}

std::string tracks_text(const Trace& trace) {
  std::string text;
  const TrackTable& tracks = trace.tracks();
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    text += std::to_string(tracks.id[i]) + " " + std::string(trace.string(tracks.name[i])) + " " +
            std::to_string(tracks.logical_id[i]) + "\n";
  }
  return text;
}

class Counts : public ::testing::Test {
 protected:
  // Records `body` in one or more windows and closes the file.
  void record(const std::function<void(Session&)>& body) {
    const auto session = open_session({.output = path_});
    body(*session);
    ASSERT_TRUE(session->close());
  }
  void record_window(const std::function<void()>& body) {
    record([&](Session& session) {
      ASSERT_TRUE(session.begin_window(0));
      body();
      session.end_window();
    });
  }

  bool are_there() const { return has_counts(*BlockFile::open(path_)); }

  // The outline agrees with what decoding all of it gives.
  void expect_exact() const {
    auto file = BlockFile::open(path_);
    ASSERT_TRUE(file);
    ASSERT_TRUE(has_counts(*file));
    const auto lazy = read_trace_lazily(*file);
    const auto whole = read_recording(*file);
    ASSERT_TRUE(lazy && whole);
    EXPECT_EQ(ledger_text(*lazy), ledger_text(*whole));
    EXPECT_EQ(tracks_text(*lazy), tracks_text(*whole));
    EXPECT_EQ(lazy->first_ns(), whole->first_ns());
    EXPECT_EQ(lazy->last_ns(), whole->last_ns());
    const TraceCounts told = lazy->counts();
    const TraceCounts found = whole->counts();
    EXPECT_EQ(told.spans_by_kind, found.spans_by_kind);
    EXPECT_EQ(told.spans_of_track, found.spans_of_track);
    EXPECT_EQ(told.steps, found.steps);
    EXPECT_EQ(told.spans, found.spans);
    EXPECT_EQ(told.instants, found.instants);
    EXPECT_EQ(told.counters, found.counters);
    EXPECT_EQ(told.allocations, found.allocations);
    if (told.flows) {
      EXPECT_EQ(told.flows, found.flows);
    }
    OperatorDetails real;
    for (const SpanId span : whole->all_spans()) {
      if (!is_operator(whole->spans().kind[span])) continue;
      real.inputs += whole->spans().arguments[span].valid() ? 1 : 0;
      real.stacks += whole->spans().stack[span].valid() ? 1 : 0;
      real.gradients += whole->spans().scope[span] == RecordScope::BackwardFunction ? 1 : 0;
    }
    const auto details = LazyTrace::operator_details(*lazy);
    ASSERT_TRUE(details) << "nothing was decoded so far";
    EXPECT_EQ(details->inputs, real.inputs);
    EXPECT_EQ(details->stacks, real.stacks);
    EXPECT_EQ(details->gradients, real.gradients);
    expect_same_events(*lazy, *whole);
  }

  // Decoding it later gives the same.
  static void expect_same_events(const Trace& lazy, const Trace& whole) {
    EXPECT_EQ(lazy.spans().size(), whole.spans().size());
    EXPECT_TRUE(lazy.spans().start_ns == whole.spans().start_ns);
    EXPECT_TRUE(lazy.spans().duration_ns == whole.spans().duration_ns);
    EXPECT_TRUE(lazy.spans().parent == whole.spans().parent);
    EXPECT_TRUE(lazy.allocations().time_ns == whole.allocations().time_ns);
    EXPECT_EQ(ledger_text(lazy), ledger_text(whole));
    EXPECT_EQ(tracks_text(lazy), tracks_text(whole));
  }

  // Rewrites the file, each block as `change` leaves it.
  void rewrite(
      const std::function<void(BlockKind kind, std::vector<std::uint8_t>& payload)>& change) const {
    const auto bytes = read_file(path_);
    ASSERT_TRUE(bytes);
    const auto file = BlockFile::parse(
        {reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()}, path_);
    ASSERT_TRUE(file);
    auto writer = BlockWriter::create(path_);
    ASSERT_TRUE(writer);
    std::vector<std::uint8_t> scratch;
    for (const BlockFile::Block& block : file->blocks()) {
      const auto payload = file->payload(block, scratch);
      ASSERT_TRUE(payload);
      std::vector<std::uint8_t> changed(payload->begin(), payload->end());
      change(block.kind, changed);
      ASSERT_TRUE(writer->append(block.kind, changed, false));
    }
    ASSERT_TRUE(writer->seal());
  }

  TempDir dir_;
  std::string path_ = dir_.file("counted.sonde");
};

TEST_F(Counts, AreExactForScopesRangesAndMoments) {
  record_window([] {
    for (int i = 0; i < 5000; ++i) {
      SONDE_SCOPE("outer", "i", i);
      SONDE_SCOPE("inner");
      SONDE_INSTANT("now");
      SONDE_COUNTER("level", i);
    }
    for (int step = 3; step < 20; ++step) {
      const record_function range("ProfilerStep#" + std::to_string(step));
      const record_function inside("forward");
    }
  });
  expect_exact();
}

TEST_F(Counts, AreExactForManyThreadsThatFillManyChunks) {
  record_window([] {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 40'000; ++i) {
          SONDE_SCOPE("a");
          SONDE_SCOPE("b");
        }
      });
    }
  });
  expect_exact();
}

TEST_F(Counts, AreExactForOperatorsAndAllocations) {
  record_window([] {
    const std::uint32_t name = sonde_name("aten::mm", 8);
    const std::uint32_t step = sonde_name("ProfilerStep#7", 14);
    sonde_thread_is(5);
    OpInputs inputs;
    inputs.scalar("1");
    const std::uint32_t frame = sonde_frame("f", "f.py", 1);
    const std::uint32_t stack = sonde_stack(&frame, 1);
    for (int i = 0; i < 3000; ++i) {
      const sonde_op user = {sizeof(user), step, 7, -1, 0, 0};
      const sonde_op op = {sizeof(op), name, 0, i, 0, 9};
      const sonde_op call = {sizeof(call), name, SONDE_SCOPE_PYTHON_CALL, -1, 0, 0};
      ASSERT_TRUE(sonde_op_begin(&user));
      ASSERT_TRUE(sonde_op_begin(&call));
      sonde_end();
      ASSERT_TRUE(sonde_op_begin(&op));
      if (i % 3 == 0) sonde_op_inputs(inputs.words(), inputs.word_count());
      if (i % 5 == 0) sonde_op_place(stack, 0);
      const sonde_allocation row = {sizeof(row), 64, 128, 128, 0, 0, 0, -1};
      sonde_allocated(&row);
      sonde_end();
      sonde_end();
    }
  });
  expect_exact();
}

TEST_F(Counts, AreExactForWhatCrossesWindows) {
  record([](Session& session) {
    SONDE_SCOPE("before all");
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(session.begin_window(i));
      {
        SONDE_SCOPE("inside");
      }
      const std::uint32_t op_name = sonde_name("aten::open", 10);
      const sonde_op op = {sizeof(op), op_name, 0, -1, 0, 0};
      const sonde_range range = sonde_op_range_begin(&op);
      session.end_window();
      sonde_range_end(range);
    }
  });
  expect_exact();
}

TEST_F(Counts, LeaveOpenHowManyArrowsThereAre) {
  record_window([] {
    SONDE_SCOPE("sender");
    sonde_flow_out(7);
    sonde_flow_in(7);
  });
  const auto trace = open_sonde(path_);
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->counts().flows.has_value());
  EXPECT_EQ(trace->flows().size(), 1u);
  EXPECT_EQ(trace->counts().flows, 1u);
}

TEST_F(Counts, AreMissingWhereAnEndCameFromAnotherThread) {
  record_window([] {
    const std::uint32_t name = sonde_name("aten::async", 11);
    const sonde_op op = {sizeof(op), name, 0, -1, 0, 0};
    const sonde_range range = sonde_op_range_begin(&op);
    std::jthread([range] { sonde_range_end(range); }).join();
  });
  EXPECT_FALSE(are_there());
  const auto trace = open_sonde(path_);
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->spans().size(), 1u);
}

TEST_F(Counts, AreThereBeforeAnEventIsDecoded) {
  record_window([] {
    for (int i = 0; i < 100; ++i) {
      SONDE_SCOPE("one");
    }
  });
  auto file = BlockFile::open(path_);
  ASSERT_TRUE(file);
  const auto trace = read_trace_lazily(*file);
  ASSERT_TRUE(trace);
  const LedgerTable* const early = &trace->ledger();
  EXPECT_EQ(trace->counts().spans, 100u);
  EXPECT_EQ(&trace->ledger(), early);  // still the outline's
  EXPECT_EQ(trace->spans().size(), 100u);
  EXPECT_NE(&trace->ledger(), early);
}

TEST_F(Counts, TellOfDamageThatIsFoundLate) {
  record_window([] {
    for (int i = 0; i < 10'000; ++i) {
      SONDE_SCOPE("one");
    }
  });
  int seen = 0;
  // Half of the first block of events is missing.
  rewrite([&seen](BlockKind kind, std::vector<std::uint8_t>& payload) {
    if (kind == BlockKind::Events && ++seen == 1) payload.resize(payload.size() / 2);
  });
  ASSERT_GE(seen, 1);
  auto file = BlockFile::open(path_);
  ASSERT_TRUE(file);
  const auto lazy = read_trace_lazily(*file);
  const auto whole = read_recording(*file);
  ASSERT_TRUE(lazy && whole);
  EXPECT_EQ(lazy->counts().spans, 10'000u);
  EXPECT_LT(lazy->spans().size(), 10'000u);
  expect_same_events(*lazy, *whole);
}

TEST_F(Counts, DoWithoutMarksThatDoNotFit) {
  record_window([] {
    for (int i = 0; i < 10'000; ++i) {
      SONDE_SCOPE("one");
    }
  });
  const auto changes = {
      +[](PieceMark& mark) { mark.number ^= 1; },
      +[](PieceMark& mark) { mark.block += 1000; },
      +[](PieceMark& mark) { mark.word_count -= 2; },
      +[](PieceMark& mark) { mark.thread += 1; },
  };
  for (const auto change : changes) {
    rewrite([&](BlockKind kind, std::vector<std::uint8_t>& payload) {
      if (kind != BlockKind::Pieces) return;
      ByteReader in(payload);
      PieceMark mark = PieceMark::read(in);
      change(mark);
      ByteWriter out;
      mark.write(out);
      const auto rest = in.bytes(in.remaining());
      out.raw(rest.data(), rest.size());
      payload = out.take();
    });
    auto file = BlockFile::open(path_);
    ASSERT_TRUE(file);
    const auto lazy = read_trace_lazily(*file);
    const auto whole = read_recording(*file);
    ASSERT_TRUE(lazy && whole);
    EXPECT_EQ(lazy->spans().size(), 10'000u);
    expect_same_events(*lazy, *whole);
  }
}

TEST_F(Counts, DecodeOnceForManyThreads) {
  record_window([] {
    for (int i = 0; i < 1000; ++i) {
      SONDE_SCOPE("one");
    }
  });
  const auto trace = open_sonde(path_);
  ASSERT_TRUE(trace);
  std::array<const SpanTable*, 4> seen{};
  {
    std::vector<std::jthread> threads;
    for (const SpanTable*& table : seen)
      threads.emplace_back([&table, &trace] { table = &trace->spans(); });
  }
  for (const SpanTable* table : seen) EXPECT_EQ(table, seen[0]);
  EXPECT_EQ(seen[0]->size(), 1000u);
}

}  // namespace
}  // namespace sonde
