// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An unmodified program that uses OpenCL, under `sonde run --opencl`.

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "launched.h"
#include "sonde/analyse/events.h"
#include "sonde/export.h"

namespace sonde::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kNoDevice = 77;

class OpenCl : public ::testing::Test {
 protected:
  // The trace of a run of the program; nothing if there is no device.
  void run(const char* program, std::vector<std::string> words = {"--opencl"},
           const std::vector<std::string>& arguments = {}) {
    words.insert(words.end(), {"-o", "run.sonde", "--", program});
    words.insert(words.end(), arguments.begin(), arguments.end());
    Launched launched(dir_, sonde_run(words));
    const int status = launched.wait();
    if (status == kNoDevice) GTEST_SKIP() << "there is no OpenCL device";
    ASSERT_EQ(status, 0) << launched.errors();
    enqueued_ = std::stoul(launched.output());
    errors_ = launched.errors();
    auto trace = open_sonde(dir_.file("run.sonde"));
    ASSERT_TRUE(trace) << trace.error().message << launched.errors();
    trace_ = *std::move(trace);
  }

  std::vector<SpanId> work() const {
    std::vector<SpanId> found;
    for (const SpanId span : trace_.all_spans()) {
      if (is_device_work(trace_.spans().kind[span])) found.push_back(span);
    }
    return found;
  }
  std::map<std::int64_t, SpanId> calls() const {
    std::map<std::int64_t, SpanId> found;
    for (const SpanId span : trace_.all_spans()) {
      if (trace_.spans().kind[span] == SpanKind::PrivateUse1Runtime &&
          trace_.spans().correlation[span] != 0) {
        found[trace_.spans().correlation[span]] = span;
      }
    }
    return found;
  }

  TempDir dir_;
  Trace trace_;
  std::size_t enqueued_ = 0;
  std::string errors_;
};

TEST_F(OpenCl, AccountsForAllThatWasEnqueued) {
  run(OPENCL_PROGRAM);
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_GT(enqueued_, 100u);
  EXPECT_EQ(calls().size(), enqueued_);
  const std::uint64_t lost = ledger_sum(trace_, LedgerKind::Unfinished, "work");
  EXPECT_EQ(work().size() + lost, enqueued_);
  EXPECT_EQ(lost, 0u) << "the program waits for all it does";
  EXPECT_EQ(ledger_sum(trace_, LedgerKind::Uncorrelated), 0u);
}

TEST_F(OpenCl, PutsWorkOnTracksOfItsQueuesInsideOfItsTime) {
  run(OPENCL_PROGRAM);
  if (IsSkipped() || HasFatalFailure()) return;
  const auto by_number = calls();
  const SpanTable& spans = trace_.spans();
  const auto error_ns = static_cast<Nanos>(ledger_sum(trace_, LedgerKind::ClockErrorNs)) + 1;
  std::set<std::uint32_t> queues;
  for (const SpanId done : work()) {
    const TrackId track = spans.track[done];
    EXPECT_EQ(trace_.tracks().kind[track], TrackKind::Stream);
    EXPECT_EQ(trace_.tracks().device_index[track], 0);
    queues.insert(track.value());
    const auto call = by_number.find(spans.correlation[done]);
    ASSERT_NE(call, by_number.end());
    EXPECT_GE(spans.start_ns[done], spans.start_ns[call->second] - error_ns);
    EXPECT_LE(trace_.end_ns(done), trace_.last_ns() + error_ns);
  }
  EXPECT_EQ(queues.size(), 4u);
  EXPECT_EQ(trace_.kernels().size() + trace_.copies().size(), enqueued_);
  ASSERT_EQ(trace_.devices().size(), 1u);
  EXPECT_EQ(trace_.devices().type[0], DeviceType::Opencl);
}

TEST_F(OpenCl, KeepsWhatWasMoved) {
  run(OPENCL_PROGRAM);
  if (IsSkipped() || HasFatalFailure()) return;
  std::map<std::string, std::int64_t> bytes;
  for (std::size_t i = 0; i < trace_.copies().size(); ++i) {
    bytes[std::string(trace_.name(trace_.copies().span[i]))] = trace_.copies().bytes[i];
  }
  for (const char* name : {"Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD", "Memset", "Map", "Unmap"}) {
    EXPECT_EQ(bytes[name], 4096) << name;
  }
  EXPECT_EQ(count_spans(trace_, "scale"), trace_.kernels().size());
}

TEST_F(OpenCl, CreditsScopesWithTheWorkOfTheirCalls) {
  run(OPENCL_SCOPES);
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_EQ(calls().size(), enqueued_) << "the layer is known before the program comes to it";
  const EventList events = function_events(trace_);
  EXPECT_EQ(events.use_device(), "opencl");
  double in_scopes = 0;
  double all = 0;
  for (const FunctionEvent event : events) {
    if (event.is_user_annotation()) in_scopes += event.device_total_us();
    if (event.device_type() == DeviceType::Opencl) all += event.self_device_us();
  }
  EXPECT_GT(all, 0);
  EXPECT_NEAR(in_scopes, all, 0.01 * all) << "the scopes do not nest";
  EXPECT_THAT(*events.key_averages().table(), HasSubstr("Self OPENCL time total"));
}

TEST_F(OpenCl, ExportsArrowsFromCallsToWork) {
  run(OPENCL_PROGRAM);
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_TRUE(export_chrome_trace(trace_, dir_.file("run.json")));
  const std::string json = read_file(dir_.file("run.json")).value_or("");
  std::size_t arrows = 0;
  for (std::size_t at = json.find("\"ac2g\""); at != std::string::npos;
       at = json.find("\"ac2g\"", at + 1)) {
    ++arrows;
  }
  EXPECT_GE(arrows, 2 * enqueued_);
}

TEST_F(OpenCl, CountsWorkThatNeverEnds) {
  run(OPENCL_PROGRAM, {"--opencl"}, {"leave work behind"});
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_EQ(calls().size(), enqueued_);
  EXPECT_EQ(ledger_sum(trace_, LedgerKind::Unfinished, "work that was still running"), 1u);
  EXPECT_EQ(work().size() + 1, enqueued_);
}

TEST_F(OpenCl, IsLeftAloneUnlessAskedFor) {
  Launched launched(dir_, sonde_run({"-o", "run.sonde", "--", OPENCL_PROGRAM}));
  const int status = launched.wait();
  if (status == kNoDevice) GTEST_SKIP() << "there is no OpenCL device";
  EXPECT_EQ(status, 0);
  EXPECT_THAT(launched.errors(), HasSubstr("nothing was recorded"));
}

}  // namespace
}  // namespace sonde::testing
