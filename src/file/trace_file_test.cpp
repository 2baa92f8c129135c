// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "file/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "decode/open_sonde.h"
#include "file/column_codec.h"
#include "trace/dump.h"
#include "trace/testing/deep.h"
#include "trace/testing/sketch.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using testing::sketch;
using testing::TempDir;
using Bytes = std::vector<std::uint8_t>;

Trace opened(const std::string& path) {
  Result<Trace> trace = open_sonde(path);
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? *trace : Trace();
}

// The values of every column as bytes, by name.
std::map<std::string, std::string> all_columns(const Trace& trace) {
  std::map<std::string, std::string> result;
  trace.tables().visit_tables([&](const std::string& table_name, const auto& table) {
    table.visit_columns([&](const std::string& name, const auto& column) {
      std::string& bytes = result[table_name + "." + name];
      for (std::size_t i = 0; i < column.size(); ++i) {
        const auto value = column[i];
        bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
      }
    });
  });
  return result;
}

Trace rich_trace() {
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back(
      {.pid = 7, .rank = 1, .world_size = 2, .host = builder.intern("node")});
  const TrackId track = builder.tracks().push_back({.process = process, .id = 8});
  builder.dims().push_back({.value = 3});
  const OpArgumentId argument = builder.op_arguments().push_back(
      {.kind = ArgumentKind::Tensor, .dims_first = DimId(0), .dims_count = 1});
  const ArgumentListId arguments =
      builder.argument_lists().push_back({.first = argument, .count = 1});
  const SpanId op = builder.spans().push_back({.start_ns = 1'700'000'000'000'000'000,
                                               .duration_ns = 500,
                                               .name = builder.intern("aten::mm"),
                                               .track = track,
                                               .kind = SpanKind::CpuOp,
                                               .arguments = arguments});
  builder.spans().push_back({.track = track, .kind = SpanKind::CudaRuntime, .correlation = 5});
  builder.spans().push_back({.track = track, .kind = SpanKind::Kernel, .correlation = 5});
  builder.tensor_uses().push_back({.span = op, .tensor_address = 0x7f00});
  builder.counters().push_back({.track = track, .name = builder.intern(""), .value = -0.0});
  builder.windows().push_back({.process = process, .start_ns = 1, .end_ns = 2, .first_step = 3});
  builder.add_ledger(LedgerKind::Unfinished, 1, "x", "y\n");
  Result<Trace> trace = std::move(builder).build();
  EXPECT_TRUE(trace);
  return *std::move(trace);
}

std::uint64_t losses(const Trace& trace) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < trace.ledger().size(); ++i) {
    const LedgerKind kind = trace.ledger().kind[i];
    const bool is_loss = kind == LedgerKind::DamagedBytes || kind == LedgerKind::Undecodable ||
                         kind == LedgerKind::Truncated;
    if (is_loss) count += trace.ledger().count[i];
  }
  return count;
}

// The bytes that save_trace() writes.
Bytes saved(const Trace& trace) {
  const TempDir dir;
  EXPECT_TRUE(save_trace(trace, dir.file("a")));
  const Result<std::string> text = read_file(dir.file("a"));
  EXPECT_TRUE(text);
  return {text->begin(), text->end()};
}

Result<Trace> parsed(const Bytes& bytes) {
  SONDE_TRY(const BlockFile file, BlockFile::parse(bytes, "a"));
  return read_trace(file);
}

TEST(TraceFile, GivesBackWhatWasSaved) {
  const TempDir dir;
  const Trace trace = rich_trace();
  ASSERT_TRUE(save_trace(trace, dir.file("a.sonde")));
  const Trace read = opened(dir.file("a.sonde"));
  EXPECT_EQ(dump_text(read), dump_text(trace));
  EXPECT_EQ(all_columns(read), all_columns(trace));
  EXPECT_EQ(read.strings().size(), trace.strings().size());
}

TEST(TraceFile, GivesBackAnEmptyTrace) {
  const TempDir dir;
  ASSERT_TRUE(save_trace(Trace(), dir.file("a")));
  EXPECT_EQ(dump_text(opened(dir.file("a"))), dump_text(Trace()));
}

TEST(TraceFile, GivesBackRowsOfWhichAllIsNull) {
  const TempDir dir;
  TraceBuilder builder;
  builder.frames().resize(5);
  Result<Trace> trace = std::move(builder).build();
  ASSERT_TRUE(trace);
  ASSERT_TRUE(save_trace(*trace, dir.file("a")));
  const Trace read = opened(dir.file("a"));
  EXPECT_EQ(read.frames().size(), 5u);
  EXPECT_FALSE(read.frames().function.materialised());
}

TEST(TraceFile, SpreadsLongColumnsOverSeveralBlocks) {
  const TempDir dir;
  TraceBuilder builder;
  const TrackId track = builder.tracks().push_back({.id = 8});
  const std::size_t count = 2 * kRowsPerBlock + 100;
  for (std::size_t i = 0; i < count; ++i) {
    builder.spans().push_back(
        {.start_ns = static_cast<Nanos>(10 * i), .duration_ns = 5, .track = track});
  }
  Result<Trace> trace = std::move(builder).build();
  ASSERT_TRUE(trace);
  ASSERT_TRUE(save_trace(*trace, dir.file("a")));
  const Trace read = opened(dir.file("a"));
  EXPECT_TRUE(read.ledger().empty());
  EXPECT_TRUE(all_columns(read) == all_columns(*trace));
}

TEST(TraceFile, IsWrittenWholeOrNotAtAll) {
  const TempDir dir;
  EXPECT_FALSE(save_trace(rich_trace(), dir.file("no/such/folder/a")));
  std::filesystem::create_directory(dir.file("taken"));
  EXPECT_FALSE(save_trace(rich_trace(), dir.file("taken")));
  ASSERT_TRUE(save_trace(rich_trace(), dir.file("a")));
  ASSERT_TRUE(save_trace(Trace(), dir.file("a")));
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    left.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(left, ::testing::UnorderedElementsAre("a", "taken"));
}

TEST(TraceFile, OpensCutAtEveryByteWithALedger) {
  const Trace trace = sketch("main aabb");
  const Bytes bytes = saved(trace);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Result<Trace> read =
        parsed(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)));
    if (length < kFileHeaderBytes) {
      EXPECT_FALSE(read) << length;
    } else {
      ASSERT_TRUE(read) << length;
      EXPECT_GT(losses(*read), 0u) << length;
    }
  }
}

TEST(TraceFile, SurvivesEveryFlippedBit) {
  const Trace trace = sketch(R"(
      main          aabb
      gpu0/stream7  .kk.
  )");
  const Bytes good = saved(trace);
  const std::string text = dump_text(trace);
  for (std::size_t bit = 0; bit < 8 * good.size(); bit += testing::deep_or(1U, 7U)) {
    Bytes bytes = good;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    const Result<Trace> read = parsed(bytes);
    if (!read) continue;
    const std::string now = dump_text(*read);
    EXPECT_TRUE(now == text || losses(*read) > 0) << "bit " << bit << "\n" << now;
  }
}

TEST(TraceFile, GivesTheOtherColumnsIfOneIsLost) {
  const Trace trace = sketch("main aabb");
  Bytes bytes = saved(trace);
  const Result<BlockFile> file = BlockFile::parse(bytes, "a");
  ASSERT_TRUE(file);
  Bytes scratch;
  Bytes values;
  for (const BlockFile::Block& block : file->blocks()) {
    const auto chunk = decode_chunk(*file->payload(block, scratch), values);
    ASSERT_TRUE(chunk);
    if (chunk->column == "name" && chunk->table == "spans") bytes[block.offset + 40] ^= 1;
  }
  const Result<Trace> read = parsed(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->spans().start_ns[1], 2'000);
  EXPECT_EQ(read->name(SpanId(1)), "");
  EXPECT_THAT(dump_text(*read), HasSubstr("wrong checksum"));
}

// A file of these chunks, in which each value is an int64 0.
Bytes file_of(const std::vector<ColumnChunk>& chunks) {
  const TempDir dir;
  Result<BlockWriter> writer = BlockWriter::create(dir.file("a"));
  EXPECT_TRUE(writer);
  for (const ColumnChunk& chunk : chunks) {
    const Bytes values(static_cast<std::size_t>(chunk.rows) * 8, 1);
    EXPECT_TRUE(writer->append(BlockKind::Columns, encode_chunk(chunk, values.data()), true));
  }
  EXPECT_TRUE(writer->seal());
  const Result<std::string> text = read_file(dir.file("a"));
  return {text->begin(), text->end()};
}

ColumnChunk dims_chunk(std::uint64_t table_rows, std::uint64_t first, std::uint64_t rows) {
  return {"dims", "value", ElementType::Int64, table_rows, first, rows};
}

std::string first_ledger_detail(const Trace& trace) {
  return trace.ledger().empty() ? "" : std::string(trace.string(trace.ledger().detail[0]));
}

TEST(TraceFile, FillsGapsWithNullAndSaysSo) {
  const Result<Trace> trace = parsed(file_of({dims_chunk(6, 0, 2), dims_chunk(6, 4, 2)}));
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->dims().size(), 6u);
  EXPECT_EQ(trace->dims().value[3], 0);
  EXPECT_EQ(first_ledger_detail(*trace), "dims.value lacks rows 2 to 3");
}

TEST(TraceFile, TakesTheFirstOfRowsThatComeTwice) {
  const Result<Trace> trace = parsed(file_of({dims_chunk(4, 0, 3), dims_chunk(4, 2, 2)}));
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->dims().size(), 3u);
  EXPECT_EQ(first_ledger_detail(*trace), "dims.value is repeated from row 2 on");
}

TEST(TraceFile, DoesNotAllocateForRowsThatItDoesNotBring) {
  constexpr std::uint64_t kMany = std::uint64_t{1} << 40;
  const Result<Trace> trace =
      parsed(file_of({dims_chunk(kMany, 0, 1), dims_chunk(kMany, kMany - 1, 1)}));
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->dims().size(), 1u);
  EXPECT_THAT(first_ledger_detail(*trace), HasSubstr("claims more rows"));
}

TEST(TraceFile, RefusesColumnsOfAnotherTypeAndUnknownOnes) {
  ColumnChunk wrong_type = dims_chunk(1, 0, 1);
  wrong_type.type = ElementType::Float64;
  ColumnChunk unknown = dims_chunk(1, 0, 1);
  unknown.column = "flavour";
  EXPECT_THAT(first_ledger_detail(*parsed(file_of({wrong_type}))), HasSubstr("another type"));
  EXPECT_EQ(first_ledger_detail(*parsed(file_of({unknown}))), "unknown column dims.flavour");
}

TEST(TraceFile, DoesNotReadTheLedgersTextForALostString) {
  const ColumnChunk names{"frames", "function", ElementType::Uint32, 3, 0, 3};
  const TempDir dir;
  Result<BlockWriter> writer = BlockWriter::create(dir.file("a"));
  ASSERT_TRUE(writer);
  const std::uint32_t ids[3] = {0, 1, 2};
  ASSERT_TRUE(writer->append(BlockKind::Columns, encode_chunk(names, ids), false));
  const Trace trace = opened(dir.file("a"));
  ASSERT_EQ(trace.frames().size(), 3u);
  EXPECT_EQ(trace.string(trace.frames().function[0]), "");
  EXPECT_GT(losses(trace), 0u);
}

}  // namespace
}  // namespace sonde
