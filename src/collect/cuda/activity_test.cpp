// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Decodes buffers that CUPTI 13.0 filled on an H200, on machines that have neither.

#include "collect/cuda/activity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "base/file.h"
#include "collect/cuda/api_calls.h"
#include "collect/cuda/call_log.h"
#include "collect/cuda/kept_buffers.h"
#include "collect/cuda/work_recorder.h"
#include "trace/testing/temp_dir.h"

namespace sonde::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

KeptFile kept(const std::string& name) {
  const auto bytes = read_file(std::string(SONDE_TEST_DATA) + "/cupti/" + name);
  EXPECT_TRUE(bytes) << bytes.error().message;
  auto file = read_kept_buffers(
      std::span(reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()));
  EXPECT_TRUE(file) << file.error().message;
  return *std::move(file);
}

struct Decoded {
  std::vector<std::pair<Activity, std::string>> all;  // with the names of kernels
  ActivityDecoder::Counts counts;

  std::size_t count(Activity::Type type) const {
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [type](const auto& item) { return item.first.type == type; }));
  }
};

Decoded decode(const KeptFile& file) {
  Decoded decoded;
  const ActivityDecoder decoder(file.version);
  for (const KeptBuffer& buffer : file.buffers) {
    const auto found = decoder.decode(buffer.bytes, [&](const Activity& activity) {
      const auto name = buffer.names.find(reinterpret_cast<std::uint64_t>(activity.kernel_name));
      decoded.all.emplace_back(activity, name != buffer.names.end() ? name->second : "");
    });
    decoded.counts.records += found.records;
    decoded.counts.unknown += found.unknown;
    decoded.counts.without_times += found.without_times;
    decoded.counts.bytes_left += found.bytes_left;
  }
  return decoded;
}

// What tests/cuda/launches.cu says it does with 3 launches on each of 8 threads: 29 kernels, 5
// copies, 9 fills, 6 launches of graphs with 50 kernels, a loop in one of them that runs three
// times, 14 allocations and 12 frees.
TEST(CuptiBuffers, HoldAllThatTheProgramDid) {
  const Decoded decoded = decode(kept("launches.cupti"));
  EXPECT_EQ(decoded.counts.unknown, 0u);
  EXPECT_EQ(decoded.counts.without_times, 0u);
  EXPECT_EQ(decoded.counts.bytes_left, 0u);
  EXPECT_EQ(decoded.count(Activity::Type::Kernel), 29u + 50u + 3u);
  EXPECT_EQ(decoded.count(Activity::Type::Copy), 5u);
  EXPECT_EQ(decoded.count(Activity::Type::Fill), 9u);
  std::map<std::string, int> kernels;
  std::set<std::uint32_t> streams;
  for (const auto& [activity, name] : decoded.all) {
    if (activity.type != Activity::Type::Kernel) continue;
    ++kernels[name];
    streams.insert(activity.span.stream);
    EXPECT_GT(activity.span.duration_ns, 0);
    EXPECT_EQ(activity.span.device_index, 0);
  }
  EXPECT_THAT(kernels, ElementsAre(Pair("_Z10count_downyPi", 3), Pair("_Z11cooperativePf", 1),
                                   Pair("_Z11with_sharedPf", 1), Pair("_Z7add_onePfi", 76),
                                   Pair("_Z9clusteredPf", 1)));
  EXPECT_GE(streams.size(), 8u);
}

TEST(CuptiBuffers, TellHowKernelsWereLaunched) {
  const Decoded decoded = decode(kept("launches.cupti"));
  int in_graphs = 0;
  for (const auto& [activity, name] : decoded.all) {
    if (activity.type != Activity::Type::Kernel) continue;
    const sonde_kernel& kernel = activity.kernel;
    in_graphs += kernel.graph_node_id != 0 ? 1 : 0;
    if (name == "_Z11with_sharedPf") {
      EXPECT_THAT(kernel.grid, ElementsAre(200u, 1u, 1u));
      EXPECT_THAT(kernel.block, ElementsAre(128u, 1u, 1u));
      EXPECT_EQ(kernel.dynamic_shared_bytes, 100u << 10);
      EXPECT_GT(kernel.registers_per_thread, 0);
    }
    if (name == "_Z9clusteredPf") {
      EXPECT_THAT(kernel.cluster, ElementsAre(2u, 1u, 1u));
    }
  }
  EXPECT_EQ(in_graphs, 53);
}

TEST(CuptiBuffers, TellWhatCopiesMovedAndWaitsWaitedFor) {
  const Decoded decoded = decode(kept("launches.cupti"));
  std::multiset<std::string> copies;
  std::map<std::uint64_t, std::uint32_t> recorded;  // sync id, stream
  for (const auto& [activity, name] : decoded.all) {
    if (activity.type == Activity::Type::Copy) copies.insert(copy_name(activity.copy));
    if (activity.type == Activity::Type::EventRecorded)
      recorded[activity.event_sync_id] = activity.span.stream;
  }
  EXPECT_THAT(copies, ::testing::UnorderedElementsAre(
                          "Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)",
                          "Memcpy DtoH (Device -> Pinned)", "Memcpy DtoD (Device -> Device)",
                          ::testing::HasSubstr("Managed")));
  int waits = 0;
  for (const auto& [activity, name] : decoded.all) {
    if (activity.type != Activity::Type::Wait || activity.sync.kind != 2) continue;
    ++waits;
    ASSERT_TRUE(recorded.contains(activity.event_sync_id));
    EXPECT_NE(recorded[activity.event_sync_id], activity.span.stream);
  }
  EXPECT_EQ(waits, 1);
}

TEST(CuptiBuffers, OfTorchAreDecodedToTheLastByte) {
  const Decoded decoded = decode(kept("train.cupti"));
  EXPECT_EQ(decoded.counts.bytes_left, 0u);
  EXPECT_EQ(decoded.counts.unknown, 0u);
  EXPECT_GT(decoded.count(Activity::Type::Kernel), 600u);
}

TEST(CuptiBuffers, ThatAreCutAnywhereLoseOnlyTheLastRecord) {
  const KeptFile file = kept("launches.cupti");
  const auto largest = std::max_element(
      file.buffers.begin(), file.buffers.end(),
      [](const KeptBuffer& a, const KeptBuffer& b) { return a.bytes.size() < b.bytes.size(); });
  const std::vector<std::uint8_t>& bytes = largest->bytes;
  const ActivityDecoder decoder(file.version);
  std::uint64_t before = 0;
  for (std::size_t size = 0; size <= std::min<std::size_t>(bytes.size(), 2000); ++size) {
    const std::vector<std::uint8_t> cut(bytes.begin(),
                                        bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const auto counts = decoder.decode(cut, [](const Activity&) {});
    EXPECT_GE(counts.records, before);
    EXPECT_LE(counts.records, before + 1);
    before = counts.records;
  }
  EXPECT_GT(before, 5u);
}

// Records only grew, so an older library's record is the beginning of today's.
std::vector<std::uint8_t> as_written_by(std::uint32_t version, const KeptFile& file,
                                        const KeptBuffer& buffer) {
  const ActivityDecoder now(file.version);
  const ActivityDecoder then(version);
  std::vector<std::uint8_t> older;
  for (std::size_t at = 0; at < buffer.bytes.size();) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, buffer.bytes.data() + at, sizeof(kind));
    const auto begin = buffer.bytes.begin() + static_cast<std::ptrdiff_t>(at);
    older.insert(older.end(), begin, begin + static_cast<std::ptrdiff_t>(then.record_bytes(kind)));
    at += now.record_bytes(kind);
  }
  return older;
}

class OlderCupti : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(OlderCupti, IsDecodedToTheSameWork) {
  const KeptFile file = kept("launches.cupti");
  KeptFile older = file;
  older.version = GetParam();
  for (std::size_t i = 0; i < file.buffers.size(); ++i)
    older.buffers[i].bytes = as_written_by(GetParam(), file, file.buffers[i]);
  const Decoded then = decode(older);
  const Decoded now = decode(file);
  EXPECT_EQ(then.counts.bytes_left, 0u);
  EXPECT_EQ(then.counts.unknown, 0u);
  ASSERT_EQ(then.all.size(), now.all.size());
  for (std::size_t i = 0; i < now.all.size(); ++i) {
    const Activity& a = then.all[i].first;
    const Activity& b = now.all[i].first;
    EXPECT_EQ(a.type, b.type);
    EXPECT_EQ(then.all[i].second, now.all[i].second);
    EXPECT_EQ(a.span.correlation, b.span.correlation);
    EXPECT_EQ(a.span.stream, b.span.stream);
    EXPECT_EQ(a.span.duration_ns, b.span.duration_ns);
    EXPECT_EQ(a.kernel.graph_node_id, b.kernel.graph_node_id);
    EXPECT_EQ(a.copy.bytes, b.copy.bytes);
    EXPECT_EQ(a.event_sync_id, GetParam() >= kCupti128 ? b.event_sync_id : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, OlderCupti,
                         ::testing::Values(kCupti118, kCupti120, kCupti122, kCupti124, kCupti126,
                                           kCupti128, kCupti129),
                         [](const auto& version) {
                           std::string text = cupti_version_text(version.param);
                           text[text.find('.')] = '_';
                           return "v" + text;
                         });

// Runs only if libcupti can be opened and has the version that wrote the buffers.
TEST(CuptiBuffers, AreWalkedThroughAsTheLibraryDoes) {
  const Result<Cupti> cupti = open_cupti();
  if (!cupti) GTEST_SKIP() << cupti.error().message;
  for (const char* name : {"launches.cupti", "train.cupti"}) {
    KeptFile file = kept(name);
    if (cupti->version != file.version)
      GTEST_SKIP() << cupti->path << " is of " << cupti_version_text(cupti->version);
    const ActivityDecoder decoder(file.version);
    for (KeptBuffer& buffer : file.buffers) {
      std::uint8_t* record = nullptr;
      std::size_t at = 0;
      while (cupti->get_next_record(buffer.bytes.data(), buffer.bytes.size(), &record) == 0) {
        ASSERT_EQ(static_cast<std::size_t>(record - buffer.bytes.data()), at);
        std::uint32_t kind = 0;
        std::memcpy(&kind, record, sizeof(kind));
        at += decoder.record_bytes(kind);
      }
      EXPECT_EQ(at, buffer.bytes.size());
    }
  }
}

TEST(CuptiBuffers, TellWhatMemoryWasTakenAndGivenBack) {
  const Decoded decoded = decode(kept("launches.cupti"));
  std::map<int, int> taken;
  std::map<std::uint64_t, std::int64_t> held;
  int releases = 0;
  for (const auto& [activity, name] : decoded.all) {
    if (activity.type != Activity::Type::Memory) continue;
    const sonde_device_allocation& memory = activity.memory;
    EXPECT_GT(memory.time_ns, 0);
    EXPECT_GT(memory.correlation, 0u);
    held[memory.address] += memory.bytes;
    if (memory.bytes > 0) {
      ++taken[memory.memory_kind];
    } else {
      ++releases;
      EXPECT_EQ(held[memory.address], 0);
    }
  }
  EXPECT_THAT(taken, ElementsAre(Pair(SONDE_MEMORY_PINNED, 1), Pair(SONDE_MEMORY_DEVICE, 11),
                                 Pair(SONDE_MEMORY_MANAGED, 2)));
  EXPECT_EQ(releases, 12);
}

TEST(CuptiBuffers, OfAnUnknownLibraryAreLeftToIt) {
  const KeptFile file = kept("launches.cupti");
  const ActivityDecoder decoder(kCupti131);
  const auto counts = decoder.decode(file.buffers.front().bytes, [](const Activity&) {});
  EXPECT_EQ(counts.records, 0u);
  EXPECT_EQ(counts.bytes_left, file.buffers.front().bytes.size());
}

TEST(CallLog, HasALineForEachCallAndTag) {
  const testing::TempDir dir;
  EXPECT_FALSE(CallLog::is_wanted());
  ::setenv("SONDE_CUDA_LOG_CALLS", dir.file("calls").c_str(), 1);
  EXPECT_TRUE(CallLog::is_wanted());
  std::unique_ptr<CallLog> log = CallLog::from_environment();
  ::unsetenv("SONDE_CUDA_LOG_CALLS");
  ASSERT_NE(log, nullptr);
  Activity activity;
  log->add(activity);  // a kernel
  activity.type = Activity::Type::Call;
  activity.span.kind = SONDE_SPAN_CUDA_DRIVER;
  activity.span.correlation = 7;
  activity.span.start_ns = 1000;
  activity.span.duration_ns = 500;
  activity.thread = 12;
  log->add(activity);
  activity.type = Activity::Type::Tag;
  activity.external_kind = 3;
  activity.external_id = 99;
  log->add(activity);
  log.reset();
  EXPECT_EQ(*read_file(dir.file("calls")), "call 7 driver 12 1000 1500\ntag 7 3 99\n");
}

TEST(ApiCallNames, AreThoseOfTheFunctions) {
  EXPECT_EQ(function_of("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(function_of("cuLaunchKernel"), "cuLaunchKernel");
  EXPECT_EQ(function_of("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync_ptsz");
  EXPECT_EQ(function_of("cuCtxCreate_v"), "cuCtxCreate_v");
}

TEST(ApiCallNames, SayWhichCallsMatter) {
  const auto runtime = [](const char* name, Level level) {
    return is_recorded(CallbackDomain::Runtime, name, level);
  };
  // Recorded in the driver instead, which costs less.
  EXPECT_FALSE(runtime("cudaLaunchKernel_v7000", Level::Linked));
  EXPECT_FALSE(runtime("cudaLaunchCooperativeKernel_ptsz_v9000", Level::Linked));
  EXPECT_TRUE(runtime("cudaLaunchKernel_v7000", Level::Full));
  EXPECT_TRUE(runtime("cudaGraphLaunch_v10000", Level::Linked));
  EXPECT_TRUE(runtime("cudaMallocAsync_v11020", Level::Linked));
  EXPECT_FALSE(runtime("cudaGetDevice_v3020", Level::Linked));
  EXPECT_FALSE(runtime("cudaStreamIsCapturing_v10000", Level::Linked));
  EXPECT_TRUE(runtime("cudaStreamIsCapturing_v10000", Level::Full));
  EXPECT_FALSE(runtime("cudaGetDevice_v3020", Level::Full));
  EXPECT_FALSE(runtime("cudaLaunchKernel_v7000", Level::Lean));
  EXPECT_TRUE(is_recorded(CallbackDomain::Driver, "cuLaunchKernelEx", Level::Linked));
  EXPECT_FALSE(is_recorded(CallbackDomain::Driver, "cuCtxGetCurrent", Level::Full));
}

}  // namespace
}  // namespace sonde::cuda
