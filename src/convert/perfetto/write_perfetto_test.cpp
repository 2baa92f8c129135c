// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tests/export/check_perfetto.py decodes whole files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/file.h"
#include "sonde/export.h"
#include "sonde/trace/builder.h"
#include "trace/testing/sketch.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using testing::sketch;
using testing::TempDir;

std::string exported(const Trace& trace) {
  const TempDir dir;
  if (!export_perfetto(trace, dir.file("t.pftrace"))) return "failed";
  return *read_file(dir.file("t.pftrace"));
}

TEST(PerfettoWrite, SaysANameOnceHoweverOftenItIsUsed) {
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back({.pid = 1});
  const TrackId track = builder.tracks().push_back({.process = process, .id = 2});
  for (int i = 0; i < 100; ++i) {
    SpanRow row;
    row.start_ns = 1000 * i;
    row.duration_ns = 500;
    row.name = builder.intern("a name that is long");
    row.track = track;
    builder.spans().push_back(row);
  }
  const std::string bytes = exported(*std::move(builder).build());
  const std::size_t first = bytes.find("a name that is long");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(bytes.find("a name that is long", first + 1), std::string::npos);
  EXPECT_LT(bytes.size(), 100u * 30u);
}

TEST(PerfettoWrite, ArgumentsKeepTheirTypes) {
  const auto annotated = [](const std::string& json) {
    TraceBuilder builder;
    const SpanId span =
        builder.spans().push_back({.start_ns = 1, .name = builder.intern("the span")});
    builder.extras().push_back(
        {TableKind::Spans, span.value(), builder.intern("key"), builder.intern(json)});
    return exported(*std::move(builder).build());
  };
  // Fields of DebugAnnotation: a tag (the field's number and encoding), then the content. The field
  // before is name_iid 1.
  const auto with_name = [](std::string_view field) { return "\x08\x01" + std::string(field); };
  EXPECT_THAT(annotated("true"), HasSubstr(with_name("\x10\x01")));
  EXPECT_THAT(annotated("-1"),
              HasSubstr(with_name("\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
  EXPECT_THAT(annotated("18446744073709551615"),
              HasSubstr(with_name("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
  EXPECT_THAT(annotated("0.5"),
              HasSubstr(with_name(std::string_view("\x29\0\0\0\0\0\0\xe0\x3f", 9))));
  EXPECT_THAT(annotated(R"("a \"b\"")"), HasSubstr("a \"b\""));
  EXPECT_THAT(annotated("[1, 2]"), HasSubstr("[1, 2]"));
}

TEST(PerfettoWrite, AnEmptyTraceIsAnEmptyFile) {
  EXPECT_EQ(exported(Trace()), "");
}

TEST(PerfettoWrite, TimesBeforeTheEpochAreShiftedAsAWhole) {
  TraceBuilder builder;
  builder.spans().push_back({.start_ns = -5000, .duration_ns = 10, .name = builder.intern("a")});
  EXPECT_THAT(exported(*std::move(builder).build()), HasSubstr("no track"));
}

TEST(PerfettoWrite, AFailureLeavesNothingBehindAndSaysWhy) {
  const TempDir dir;
  const auto no_folder = export_perfetto(sketch("main aa"), dir.file("no/t.pftrace"));
  ASSERT_FALSE(no_folder);
  EXPECT_THAT(no_folder.error().message, HasSubstr("no/t.pftrace: cannot create: No such file"));
  const auto full = export_perfetto(sketch("main aa"), "/dev/full");
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr("/dev/full: cannot write: No space left"));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace sonde
