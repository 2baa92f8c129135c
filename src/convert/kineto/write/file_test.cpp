// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include <csignal>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/gzip_writer.h"
#include "base/output_file.h"
#include "sonde/export.h"
#include "sonde/trace/builder.h"
#include "trace/testing/sketch.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using testing::sketch;
using testing::TempDir;

std::size_t files_in(const std::string& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    (void)entry;
    ++count;
  }
  return count;
}

// More than one block: many spans on two threads, with instants between them.
Trace large_trace() {
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back({.pid = 1});
  for (int t = 0; t < 2; ++t) {
    const TrackId track = builder.tracks().push_back({.process = process, .id = 10 + t});
    for (int i = 0; i < 20000; ++i) {
      SpanRow row;
      row.start_ns = 1000 * i;
      row.duration_ns = 500 + i % 700;
      row.track = track;
      row.name = builder.intern("span " + std::to_string(i % 100));
      builder.spans().push_back(row);
      InstantRow mark;
      mark.time_ns = 1000 * i + 10;
      mark.track = track;
      mark.name = row.name;
      builder.instants().push_back(mark);
    }
  }
  return *std::move(builder).build();
}

// Reads one member, like readers that do not expect several.
std::string gunzipped(const std::string& bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return "no zlib";
  std::string text(std::size_t{64} << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const int result = inflate(&stream, Z_FINISH);
  text.resize(stream.total_out);
  const bool is_all_read = stream.avail_in == 0;
  inflateEnd(&stream);
  return result == Z_STREAM_END && is_all_read ? text : "broken gzip";
}

TEST(KinetoWriteFile, GivesTheSameBytesOnAnyNumberOfThreads) {
  const Trace trace = large_trace();
  const TempDir dir;
  for (const char* name : {"t.json", "t.json.gz"}) {
    const auto bytes = [&](unsigned threads) {
      EXPECT_TRUE(export_chrome_trace(trace, dir.file(name), {.threads = threads}));
      return *read_file(dir.file(name));
    };
    EXPECT_TRUE(bytes(1) == bytes(3)) << name;
  }
}

// Which thread compresses a block is chance, and so is what that thread compressed before.
TEST(KinetoWriteFile, GzipOfABlockDoesNotDependOnTheOneBefore) {
  std::mt19937 random(7);
  const auto text = [&](std::size_t size) {
    std::string result;
    while (result.size() < size) result += "{\"name\": " + std::to_string(random() % 5000) + "}, ";
    return result;
  };
  const std::string wanted = text(200'000);
  CompressedBlock alone;
  ASSERT_TRUE(GzipCompressor().compress(wanted, alone));
  for (int i = 0; i < 20; ++i) {
    GzipCompressor used;
    CompressedBlock before;
    CompressedBlock after;
    ASSERT_TRUE(used.compress(text(1'000 + random() % 300'000), before));
    ASSERT_TRUE(used.compress(wanted, after));
    EXPECT_TRUE(after.bytes == alone.bytes) << i;
  }
}

TEST(KinetoWriteFile, GzipHoldsTheSameTextInOneMember) {
  const Trace trace = large_trace();
  const TempDir dir;
  ASSERT_TRUE(export_chrome_trace(trace, dir.file("t.json")));
  ASSERT_TRUE(export_chrome_trace(trace, dir.file("t.json.gz")));
  std::string plain = *read_file(dir.file("t.json"));
  const std::string packed = *read_file(dir.file("t.json.gz"));
  EXPECT_LT(packed.size(), plain.size() / 4);
  const std::string name = "t.json\"";
  plain.replace(plain.rfind(name), name.size(), "t.json.gz\"");
  EXPECT_TRUE(gunzipped(packed) == plain);
}

TEST(KinetoWriteFile, GzipSaysTheNameThatWasAskedFor) {
  const TempDir dir;
  const std::string path = dir.file("trace.json.gz");
  ASSERT_TRUE(export_chrome_trace(sketch("main aaaa"), path));
  EXPECT_THAT(gunzipped(*read_file(path)), HasSubstr("\"traceName\": \"" + path + "\""));
}

TEST(KinetoWriteFile, GzipOfNothingAndOfNoiseReadsBack) {
  std::string noise(300000, '\0');
  std::uint32_t state = 1;
  for (char& c : noise) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  for (const std::string& text : {std::string(), noise}) {
    GzipStream stream;
    GzipCompressor compressor;
    CompressedBlock block;
    std::string file;
    const auto add = [&file](const auto& bytes) { file.append(bytes.begin(), bytes.end()); };
    add(GzipStream::head());
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(compressor.compress(text, block));
      add(stream.add(block));
    }
    add(stream.end());
    EXPECT_TRUE(gunzipped(file) == text + text);
  }
}

TEST(KinetoWriteFile, ReplacesAFileAndLeavesNoOther) {
  const TempDir dir;
  ASSERT_TRUE(write_file_whole(dir.file("t.json"), "before"));
  ASSERT_TRUE(export_chrome_trace(sketch("main aa"), dir.file("t.json")));
  EXPECT_EQ(files_in(dir.path()), 1u);
  EXPECT_THAT(*read_file(dir.file("t.json")), HasSubstr("traceEvents"));
}

TEST(KinetoWriteFile, SaysThatThereIsNoSuchFolder) {
  const TempDir dir;
  const auto done = export_chrome_trace(sketch("main aa"), dir.file("no/t.json"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::NotFound);
  EXPECT_THAT(done.error().message, HasSubstr(dir.file("no/t.json")));
  EXPECT_THAT(done.error().message, HasSubstr("No such file or directory"));
}

TEST(KinetoWriteFile, SaysThatThePathIsAFolder) {
  const TempDir dir;
  const auto done = export_chrome_trace(sketch("main aa"), dir.path());
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr(dir.path() + ": cannot write: it is a folder"));
}

TEST(KinetoWriteFile, SaysThatTheDiskIsFull) {
  for (const unsigned threads : {1u, 3u}) {
    const auto done = export_chrome_trace(large_trace(), "/dev/full", {.threads = threads});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::Io);
    EXPECT_THAT(done.error().message, HasSubstr("/dev/full: cannot write: No space left"));
  }
}

TEST(KinetoWriteFile, AFailedExportLeavesTheOldFileAlone) {
  const TempDir dir;
  ASSERT_TRUE(write_file_whole(dir.file("t.json"), "before"));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 100000;
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const auto done = export_chrome_trace(large_trace(), dir.file("t.json"));
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("File too large"));
  EXPECT_EQ(*read_file(dir.file("t.json")), "before");
  EXPECT_EQ(files_in(dir.path()), 1u);
}

}  // namespace
}  // namespace sonde
