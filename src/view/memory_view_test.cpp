// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyse/testing/memory_trace.h"
#include "base/file.h"
#include "convert/gunzip.h"
#include "sonde/view/memory_timeline.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using testing::MemoryTrace;
using ::testing::Not;
using ::testing::StartsWith;

MemoryProfile small_profile() {
  MemoryTrace t;
  t.op("aten::mm", 0, 10);
  t.free(1, 0x50, 64);
  t.alloc(2, 0x100, 512);
  t.alloc(3, 0x200, 256);
  t.free(20, 0x100, 512);
  return memory_profile(t.build());
}

std::string gunzipped(const std::string& path) {
  const Result<std::string> file = read_file(path);
  if (!file) return {};
  const Result<Gunzipped> text =
      gunzip({reinterpret_cast<const std::uint8_t*>(file->data()), file->size()});
  return text ? std::string(text->text.text()) : std::string();
}

TEST(MemorySeries, IsPyTorchsJson) {
  const MemoryProfile profile = small_profile();
  EXPECT_EQ(memory_series_json(profile.devices.front()),
            "[[1, 1, 2, 3, 20], ["
            "[0, 0, 0, 0, 0, 0, 0, 0, 64], [0, 0, 0, 0, 0, 0, 0, 0, 0], "
            "[0, 0, 0, 0, 0, 0, 0, 0, 512], [0, 0, 0, 0, 0, 0, 0, 0, 768], "
            "[0, 0, 0, 0, 0, 0, 0, 0, 256]]]");
}

TEST(MemoryEvents, ArePyTorchsRawJson) {
  const MemoryProfile profile = small_profile();
  EXPECT_EQ(memory_events_json(profile.devices.front()),
            "[[-1, 1, 64, 7], [1000, 4, -64, 7], [2000, 2, 512, 7], [3000, 2, 256, 7], "
            "[20000, 4, -512, 7]]");
}

TEST(MemoryEvents, OfOneTimeStandInTheOrderOfActions) {
  MemoryTrace t;
  t.alloc(1, 0x100, 512);
  t.free(2, 0x100, 512);
  t.alloc(2, 0x100, 256);
  const MemoryProfile profile = memory_profile(t.build());
  EXPECT_EQ(memory_events_json(profile.devices.front()),
            "[[1000, 2, 512, 7], [2000, 2, 256, 7], [2000, 4, -512, 7]]");
}

TEST(MemoryTimeline, IsWrittenBySuffix) {
  const testing::TempDir dir;
  const MemoryProfile profile = small_profile();
  const DeviceMemory& device = profile.devices.front();
  const auto written = [&](const char* name) {
    const std::string path = dir.path() + "/" + name;
    EXPECT_TRUE(export_memory_timeline(profile.trace, path).has_value());
    return path;
  };
  EXPECT_EQ(gunzipped(written("m.raw.json.gz")), memory_events_json(device));
  EXPECT_EQ(gunzipped(written("m.json.gz")), memory_series_json(device));
  EXPECT_EQ(*read_file(written("m.raw.json")), memory_series_json(device)) << "as PyTorch does";
  EXPECT_THAT(*read_file(written("m.html")), StartsWith("<!doctype html>"));
  EXPECT_THAT(*read_file(written("m.svg")), StartsWith("<svg "));
}

TEST(MemoryTimeline, NamesWhatIsMissing) {
  EXPECT_EQ(export_memory_timeline(Trace(), "nowhere.json").error().message,
            "profile_memory=True required for memory profiling.");
}

TEST(MemoryPage, ShowsTheDevice) {
  const MemoryProfile profile = small_profile();
  EXPECT_THAT(*memory_page(profile, profile.devices.front()), StartsWith("<!doctype html>"));
}

}  // namespace
}  // namespace sonde
