// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The profiler over real sessions: what is in the traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "collect/distributed.h"
#include "collect/testing/recorded.h"
#include "profiler/testing/fake_session.h"
#include "sonde/open.h"
#include "sonde/profiler.h"
#include "sonde/record.h"
#include "sonde/trace.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void op() {
  SONDE_SCOPE("op");
}

void train(Profiler& prof, int steps) {
  prof.start();
  for (int step = 0; step < steps; ++step) {
    op();
    prof.step();
  }
  prof.stop();
}

std::vector<std::string> names(const Trace& trace) {
  std::vector<std::string> result;
  for (const SpanId span : trace.all_spans()) result.emplace_back(trace.name(span));
  return result;
}

TEST(ProfilerPart, LeavesOutWhatBeginsWhileItIsToggledOff) {
  Profiler prof;
  prof.start();
  op();
  prof.toggle_collection_dynamic(false, {Activity::Cpu});
  op();
  {
    SONDE_SCOPE("unwanted");
  }
  prof.toggle_collection_dynamic(true, {Activity::Cpu});
  {
    SONDE_SCOPE("wanted");
  }
  prof.toggle_collection_dynamic(false, {Activity::Cuda});
  op();
  prof.stop();
  EXPECT_THAT(names(*prof.trace()), ElementsAre("op", "wanted", "op"));
  // The next recording begins anew.
  prof.start();
  op();
  prof.stop();
  EXPECT_THAT(names(*prof.trace()), ElementsAre("op"));
}

TEST(ProfilerPart, HasOnlyTheKindsThatWereAskedFor) {
  ProfilerOptions options;
  options.only_kinds = {SpanKind::CpuOp};
  Profiler prof(options);
  prof.start();
  op();
  prof.stop();
  EXPECT_THAT(names(*prof.trace()), IsEmpty());
}

int count(const Trace& trace, std::string_view name) {
  int found = 0;
  for (const SpanId span : trace.all_spans()) found += trace.name(span) == name ? 1 : 0;
  return found;
}

std::string processes(const Trace& trace) {
  std::string text;
  const ProcessTable& table = trace.processes();
  for (std::size_t i = 0; i < table.size(); ++i) {
    text += std::to_string(table.pid[i]) + " parent " + std::to_string(table.parent_pid[i]) +
            " rank " + std::to_string(table.rank[i]) + " of " +
            std::to_string(table.world_size[i]) + " " + std::string(trace.string(table.name[i])) +
            " on " + std::string(trace.string(table.host[i])) + "\n";
  }
  return text;
}

std::map<std::string, std::string> metadata(const Trace& trace) {
  std::map<std::string, std::string> pairs;
  const MetadataTable& table = trace.metadata();
  for (std::size_t i = 0; i < table.size(); ++i)
    pairs[std::string(trace.string(table.key[i]))] = trace.string(table.value[i]);
  return pairs;
}

std::set<std::pair<LedgerKind, std::string>> ledger_kinds(const Trace& trace) {
  std::set<std::pair<LedgerKind, std::string>> kinds;
  const LedgerTable& table = trace.ledger();
  for (std::size_t i = 0; i < table.size(); ++i)
    kinds.emplace(table.kind[i], trace.string(table.detail[i]));
  return kinds;
}

class ProfilerRecording : public ::testing::Test {
 protected:
  ProfilerRecording() {
    std::string pattern = std::filesystem::temp_directory_path() / "sonde-profiler-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ProfilerRecording() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
  testing::CapturedMessages messages_;
};

struct AccCase {
  int warmup;
  int active;
  int repeat;
  bool acc_events;
  int ops;
};

class AccEvents : public ProfilerRecording, public ::testing::WithParamInterface<AccCase> {};

TEST_P(AccEvents, CountsWhatPyTorchCountsInAHundredSteps) {
  const AccCase& wanted = GetParam();
  Profiler prof({.schedule = schedule(
                     {.warmup = wanted.warmup, .active = wanted.active, .repeat = wanted.repeat}),
                 .acc_events = wanted.acc_events});
  train(prof, 100);
  ASSERT_TRUE(prof.status()) << prof.status().error().message;
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count(*trace, "op"), wanted.ops);
}

INSTANTIATE_TEST_SUITE_P(Cycles, AccEvents,
                         ::testing::Values(AccCase{0, 1, 1, true, 1}, AccCase{0, 5, 0, true, 100},
                                           AccCase{0, 5, 10, true, 50}, AccCase{1, 5, 0, true, 83},
                                           AccCase{10, 10, 4, true, 40}, AccCase{50, 1, 0, true, 1},
                                           AccCase{0, 5, 0, false, 0},
                                           AccCase{10, 10, 4, false, 10}));

TEST_F(ProfilerRecording, KeepsEveryCycleInTheFile) {
  Profiler prof({.output = path("run.sonde"),
                 .schedule = schedule({.wait = 1, .warmup = 1, .active = 2, .repeat = 3})});
  train(prof, 15);
  ASSERT_TRUE(prof.close());
  const Result<Trace> file = open_sonde(prof.path());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->windows().size(), 3u);
  EXPECT_EQ(count(*file, "op"), 6);
}

TEST_F(ProfilerRecording, GivesEachCycleAFileIfAskedFor) {
  Profiler prof({.output = path("run_{cycle}.sonde"),
                 .schedule = schedule({.warmup = 1, .active = 2, .repeat = 2}),
                 .one_file_per_cycle = true});
  train(prof, 10);
  ASSERT_TRUE(prof.close());
  for (const char* name : {"run_0.sonde", "run_1.sonde"}) {
    const Result<Trace> file = open_sonde(path(name));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(count(*file, "op"), 2) << name;
  }
}

TEST_F(ProfilerRecording, DrawsEachRecordedStepAroundItsWork) {
  Profiler prof({.schedule = schedule({.wait = 1, .warmup = 1, .active = 2, .repeat = 1})});
  train(prof, 6);
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_THAT(names(*trace), ElementsAre("ProfilerStep#2", "op", "ProfilerStep#3", "op"));
  for (const SpanId span : trace->all_spans()) {
    if (trace->name(span) != "op") {
      EXPECT_EQ(trace->spans().kind[span], SpanKind::Step);
      EXPECT_EQ(trace->spans().flags[span], 0) << "begun or ended outside its window";
    } else {
      EXPECT_EQ(trace->spans().kind[trace->spans().parent[span]], SpanKind::Step);
    }
  }
}

TEST_F(ProfilerRecording, EndsTheOpenStepInsideTheWindowWhenStopped) {
  Profiler prof({.schedule = schedule({.warmup = 1, .active = 4})});
  prof.start();
  prof.step();
  op();
  prof.stop();
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_THAT(names(*trace), ElementsAre("ProfilerStep#1", "op"));
  EXPECT_EQ(trace->spans().flags[SpanId(0)], 0);
}

TEST_F(ProfilerRecording, DrawsNoStepsWithoutASchedule) {
  Profiler prof;
  train(prof, 3);
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_THAT(names(*trace), ElementsAre("op", "op", "op"));
}

TEST_F(ProfilerRecording, HandsOverTheCycleThatHasJustEnded) {
  std::vector<int> ops;
  Profiler prof(
      {.schedule = schedule({.warmup = 1, .active = 3}), .on_trace_ready = [&](Profiler& ready) {
         const Result<Trace> trace = ready.trace();
         ASSERT_TRUE(trace) << trace.error().message;
         ops.push_back(count(*trace, "op"));
       }});
  train(prof, 10);
  EXPECT_THAT(ops, ElementsAre(3, 3, 1));
}

TEST_F(ProfilerRecording, CyclesFollowOneAnotherOnOneClock) {
  Profiler prof(
      {.schedule = schedule({.warmup = 1, .active = 2, .repeat = 3}), .acc_events = true});
  train(prof, 9);
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  std::vector<Nanos> starts;
  for (const SpanId span : trace->all_spans()) {
    if (trace->name(span) == "op") starts.push_back(trace->spans().start_ns[span]);
  }
  EXPECT_EQ(starts.size(), 6u);
  EXPECT_EQ(std::adjacent_find(starts.begin(), starts.end(), std::greater_equal<>()), starts.end());
  const WindowTable& windows = trace->windows();
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_LE(windows.end_ns[WindowId(0)], windows.start_ns[WindowId(1)]);
}

TEST_F(ProfilerRecording, MetadataOfTheCallbackIsInItsExport) {
  Profiler prof({.on_trace_ready = [&](Profiler& ready) {
    ready.add_metadata("verdict", "a \"good\" run");
    ASSERT_TRUE(ready.export_chrome_trace(path("run.json")));
  }});
  train(prof, 2);
  const Result<Trace> read = open_trace(path("run.json"));
  ASSERT_TRUE(read) << read.error().message;
  bool found = false;
  for (std::size_t i = 0; i < read->metadata().size(); ++i) {
    found |= read->string(read->metadata().key[i]) == "verdict" &&
             read->string(read->metadata().value[i]) == "\"a \\\"good\\\" run\"";
  }
  EXPECT_TRUE(found);
}

TEST_F(ProfilerRecording, ATraceNamesNoThreadsOfEarlierOnes) {
  Profiler prof({.schedule = schedule({.warmup = 1, .active = 1})});
  prof.start();
  prof.step();
  std::thread(op).join();
  prof.step();
  prof.step();
  op();
  prof.stop();
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count(*trace, "op"), 1);
  EXPECT_EQ(trace->tracks().size(), 1u);
}

TEST_F(ProfilerRecording, RecordsAgainAfterAStop) {
  Profiler prof({.acc_events = true});
  train(prof, 2);
  op();
  train(prof, 3);
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count(*trace, "op"), 5);
  EXPECT_EQ(prof.step_num(), 5);
}

TEST_F(ProfilerRecording, StartsAndStopsOnDifferentThreadsAndRecordsThemAll) {
  Profiler prof({.schedule = schedule({.warmup = 1, .active = 4})});
  prof.start();
  std::thread([&] { prof.step(); }).join();
  op();
  std::thread([&] {
    op();
    prof.step();
  }).join();
  std::thread([] { op(); }).join();
  std::thread([&] { prof.stop(); }).join();
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count(*trace, "op"), 3);
  EXPECT_EQ(count(*trace, "ProfilerStep#1"), 1);
  EXPECT_EQ(count(*trace, "ProfilerStep#2"), 1);
}

TEST_F(ProfilerRecording, CountsTheStepsOfManyThreads) {
  Profiler prof({.schedule = schedule({.warmup = 1, .active = 2}), .acc_events = true});
  prof.start();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int step = 0; step < 30; ++step) {
        op();
        prof.add_metadata("step", std::to_string(prof.step_num()));
        prof.step();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  prof.stop();
  EXPECT_EQ(prof.step_num(), 120);
  ASSERT_TRUE(prof.status()) << prof.status().error().message;
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->windows().size(),
            41u);  // steps 1 and 2, … 118 and 119, and none at the end
}

TEST_F(ProfilerRecording, RecordsOnlyTheThreadsNamed) {
  Profiler prof({.only_thread_names = {"loader"}});
  prof.start();
  op();
  std::thread([] {
    pthread_setname_np(pthread_self(), "loader");
    SONDE_SCOPE("load");
  }).join();
  prof.stop();
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_THAT(names(*trace), ElementsAre("load"));
}

TEST_F(ProfilerRecording, NestsAndOverlaps) {
  Profiler outer;
  Profiler inner;
  Profiler late;
  outer.start();
  op();
  inner.start();
  op();
  inner.stop();
  late.start();
  op();
  outer.stop();
  op();
  late.stop();
  EXPECT_EQ(count(*outer.trace(), "op"), 3);
  EXPECT_EQ(count(*inner.trace(), "op"), 1);
  EXPECT_EQ(count(*late.trace(), "op"), 2);
}

TEST_F(ProfilerRecording, StoresItsMetadataInTheTrace) {
  Profiler prof({.record = {.record_shapes = true}});
  prof.add_metadata("note", "a \"quoted\" word");
  train(prof, 1);
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  std::map<std::string, std::string> metadata;
  for (std::uint32_t row = 0; row < trace->metadata().size(); ++row) {
    const MetadataId id(row);
    metadata[std::string(trace->string(trace->metadata().key[id]))] =
        trace->string(trace->metadata().value[id]);
  }
  EXPECT_EQ(metadata["note"], R"("a \"quoted\" word")");
  EXPECT_EQ(metadata["record_shapes"], "1");
  EXPECT_EQ(metadata["trace_id"], json_string(prof.trace_id()));
}

TEST_F(ProfilerRecording, SavesTheCycleAsAFile) {
  Profiler prof;
  train(prof, 2);
  ASSERT_TRUE(prof.save(path("saved.sonde")));
  const Result<Trace> saved = open_sonde(path("saved.sonde"));
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(count(*saved, "op"), 2);
}

TEST_F(ProfilerRecording, KeepsItsOwnFileFromWhatIsSaved) {
  const std::string recorded = path("run.sonde");
  Profiler prof({.output = recorded});
  for (int i = 0; i < 2; ++i) {
    prof.start();
    op();
    prof.stop();
    for (const Result<void>& written :
         {prof.save(recorded), prof.export_chrome_trace(recorded), prof.snapshot(recorded)}) {
      ASSERT_FALSE(written);
      EXPECT_THAT(written.error().message, ::testing::HasSubstr("records to; choose another name"));
    }
  }
  ASSERT_TRUE(prof.close());
  const Result<Trace> trace = open_sonde(recorded);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count(*trace, "op"), 2);
}

// GoogleTest runs suites of such a name first, while there is no other thread that fork() would
// leave behind.
using ProfilerRecordingDeathTest = ProfilerRecording;

// The variables of the main thread are gone by then.
TEST_F(ProfilerRecordingDeathTest, MayBeAStaticThatSavesWhenTheProgramEnds) {
  const std::string saved = path("static.sonde");
  EXPECT_EXIT(
      {
        static std::string file = saved;
        static Profiler prof({.on_trace_ready = [](Profiler& self) {
          if (!self.save(file)) std::_Exit(1);
        }});
        prof.start();
        for (int i = 0; i < 100; ++i) op();
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
  const Result<Trace> trace = open_sonde(saved);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count(*trace, "op"), 100);
}

TEST_F(ProfilerRecording, WritesWhatARingHoldsWhileRecordingGoesOn) {
  Profiler prof({.policy = BufferPolicy::Ring});
  EXPECT_FALSE(prof.snapshot(path("early.sonde")));
  prof.start();
  op();
  const Result<void> written = prof.snapshot(path("now.sonde"));
  ASSERT_TRUE(written) << written.error().message;
  op();
  prof.stop();
  const Result<Trace> snapshot = open_sonde(path("now.sonde"));
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_EQ(count(*snapshot, "op"), 1);
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count(*trace, "op"), 2);
}

// Only its window distinguishes a snapshot from the file that the profiler writes itself.
TEST_F(ProfilerRecording, DescribesASnapshotLikeAnyFile) {
  set_distributed_info({.rank = 3, .world_size = 8});
  Profiler prof({.record = {.activities = {Activity::Cpu, Activity::Mtia}, .record_shapes = true},
                 .budget_bytes = 2u << 20,
                 .policy = BufferPolicy::Ring});
  prof.add_metadata("early", "bird");
  prof.start();
  prof.add_metadata("note", "first");
  prof.add_metadata("note", "second");
  constexpr std::uint64_t kScopes = 500'000;
  for (std::uint64_t i = 0; i < kScopes; ++i) op();
  ASSERT_TRUE(prof.snapshot(path("now.sonde")));
  prof.stop();
  reset_distributed_info();
  const Result<Trace> snapshot = open_sonde(path("now.sonde"));
  const Result<Trace> file = prof.trace();
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(processes(*snapshot), processes(*file));
  auto of_file = metadata(*file);
  of_file.erase(std::string(kProcessorTimeKey));  // known when the recording ends
  EXPECT_EQ(metadata(*snapshot), of_file);
  EXPECT_EQ(metadata(*snapshot)["note"], "\"second\"");
  EXPECT_EQ(ledger_kinds(*snapshot), ledger_kinds(*file));
  EXPECT_GT(testing::ledger_sum(*snapshot, LedgerKind::Overwritten), 0u);
  EXPECT_EQ(testing::ledger_sum(*snapshot, LedgerKind::EventsWritten) +
                testing::ledger_sum(*snapshot, LedgerKind::Overwritten),
            kScopes * 2);
}

TEST_F(ProfilerRecording, TakesSnapshotsOfTheThreadsNamedAlone) {
  Profiler prof({.policy = BufferPolicy::Ring, .only_thread_names = {"loader"}});
  prof.start();
  op();
  std::thread([] {
    ::pthread_setname_np(::pthread_self(), "loader");
    SONDE_SCOPE("load");
  }).join();
  ASSERT_TRUE(prof.snapshot(path("now.sonde")));
  prof.stop();
  const Result<Trace> snapshot = open_sonde(path("now.sonde"));
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_THAT(names(*snapshot), ElementsAre("load"));
}

TEST_F(ProfilerRecording, SaysOnceWhatToDoAboutAnActivityThatNothingRecords) {
  testing::CapturedMessages messages;
  Profiler prof({.record = {.activities = {Activity::Cpu, Activity::Cuda, Activity::Xpu}},
                 .schedule = [](std::int64_t) { return ProfilerAction::RecordAndSave; },
                 .one_file_per_cycle = true});
  train(prof, 2);
  EXPECT_THAT(
      messages.take(),
      ElementsAre("warning: cuda: nothing in this program can record it: link Sonde::cuda, or "
                  "start the program with `sonde run --gpu`",
                  "warning: xpu: nothing in this program can record it: link a library that "
                  "adds a source for it (sonde/source/plugin.h)"));
  EXPECT_TRUE(prof.status());
}

TEST_F(ProfilerRecording, AsksByItselfOnlyForWhatSomethingRecords) {
  testing::CapturedMessages messages;
  Profiler prof;
  train(prof, 1);
  EXPECT_THAT(messages.take(), IsEmpty());
}

TEST_F(ProfilerRecording, ProfilesABlockByItself) {
  op();
  {
    const ScopedProfiler prof({.output = path("block.sonde")});
    op();
  }
  op();
  const Result<Trace> trace = open_sonde(path("block.sonde"));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count(*trace, "op"), 1);
}

TEST_F(ProfilerRecording, OfABlockAnswersAfterStop) {
  ScopedProfiler prof;
  op();
  prof.stop();
  EXPECT_EQ(prof.key_averages().size(), 1u);
  bool is_ready = false;
  {
    ScopedProfiler other({.on_trace_ready = [&](Profiler& self) {
      is_ready = true;
      EXPECT_EQ(self.key_averages().size(), 1u);
    }});
    op();
  }
  EXPECT_TRUE(is_ready);
}

TEST_F(ProfilerRecording, KeepsTheTraceAfterClose) {
  Profiler prof({.output = path("run.sonde")});
  train(prof, 2);
  ASSERT_TRUE(prof.close());
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count(*trace, "op"), 2);
}

TEST_F(ProfilerRecording, SaysWhyAFileCannotBeWritten) {
  Profiler prof({.output = path("no/such/folder/run.sonde")});
  train(prof, 2);
  ASSERT_FALSE(prof.status());
  EXPECT_NE(prof.status().error().message.find("no/such/folder/run.sonde"), std::string::npos);
}

TEST_F(ProfilerRecording, DoesNothingInAChildOfFork) {
  Profiler prof({.output = path("run.sonde")});
  prof.start();
  op();
  const pid_t child = ::fork();
  if (child == 0) {
    op();
    prof.step();
    prof.stop();
    prof.add_metadata("who", "child");
    const bool quiet = !prof.trace() && prof.close() && prof.step_num() == 0;
    ::_exit(quiet ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  op();
  prof.stop();
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count(*trace, "op"), 2);
}

TEST_F(ProfilerRecording, LeavesADestroyedParentsFileAloneInTheChild) {
  auto prof = std::make_unique<Profiler>(ProfilerOptions{.output = path("run.sonde")});
  prof->start();
  op();
  const pid_t child = ::fork();
  if (child == 0) {
    prof.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  prof.reset();
  const Result<Trace> trace = open_sonde(path("run.sonde"));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count(*trace, "op"), 1);
}

// A closed profiler has released its file, even if the object is still held.
TEST_F(ProfilerRecording, LeavesItsNameToTheNextWhenItIsClosed) {
  Profiler first({.output = path("run.sonde")});
  train(first, 1);
  ASSERT_TRUE(first.close());
  EXPECT_EQ(count(*first.trace(), "op"), 1) << "what was recorded can still be had";
  Profiler second({.output = path("run.sonde")});
  train(second, 1);
  ASSERT_TRUE(second.close());
  EXPECT_THAT(messages_.take(), IsEmpty());
  const Result<Trace> gone = first.trace();
  ASSERT_FALSE(gone) << "the file is the second's";
  EXPECT_THAT(gone.error().message,
              ::testing::HasSubstr("run.sonde: was replaced by another recording"));
}

TEST_F(ProfilerRecording, LeavesItsNameAlsoWhileAForkedChildLives) {
  Profiler first({.output = path("run.sonde")});
  first.start();
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  first.stop();
  ASSERT_TRUE(first.close());
  Profiler second({.output = path("run.sonde")});
  train(second, 1);
  EXPECT_TRUE(second.close());
  EXPECT_THAT(messages_.take(), IsEmpty());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(ProfilerRecording, LeavesItsNameWhileOthersRecord) {
  std::atomic<bool> done{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&, i] {
      while (!done) {
        Profiler other({.output = path("other" + std::to_string(i) + ".sonde")});
        train(other, 1);
      }
    });
  }
  int failed = 0;
  for (int i = 0; i < 100; ++i) {
    Profiler prof({.output = path("run.sonde")});
    train(prof, 1);
    if (!prof.close()) ++failed;
  }
  done = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(failed, 0);
  EXPECT_THAT(messages_.take(), IsEmpty());
}

// tensorboard_trace_handler

std::vector<std::string> files_in(const std::filesystem::path& folder) {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    result.push_back(entry.path().filename());
  }
  return result;
}

TEST_F(ProfilerRecording, ExportsCyclesForTensorboardUnderTheWorkersName) {
  Profiler prof({.schedule = schedule({.warmup = 1, .active = 2, .repeat = 2}),
                 .on_trace_ready = tensorboard_trace_handler(path("deep/log"), "worker7")});
  train(prof, 10);
  const auto is_named = ::testing::MatchesRegex("worker7\\.[0-9]+\\.pt\\.trace\\.json");
  EXPECT_THAT(files_in(folder_ / "deep/log"), ::testing::UnorderedElementsAre(is_named, is_named));
  for (const std::string& name : files_in(folder_ / "deep/log")) {
    const Result<Trace> exported = open_trace(path("deep/log/" + name));
    ASSERT_TRUE(exported) << exported.error().message;
    EXPECT_EQ(count(*exported, "op"), 2);
  }
}

TEST_F(ProfilerRecording, CompressesForTensorboardIfAsked) {
  Profiler prof({.on_trace_ready = tensorboard_trace_handler(path("log"), "w", true)});
  train(prof, 1);
  EXPECT_THAT(files_in(folder_ / "log"), ElementsAre(::testing::EndsWith(".pt.trace.json.gz")));
}

TEST_F(ProfilerRecording, NamesTheWorkerAfterHostAndProcess) {
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof(host) - 1), 0);
  Profiler prof({.on_trace_ready = tensorboard_trace_handler(path("log"))});
  train(prof, 1);
  const std::string start = std::string(host) + "_" + std::to_string(::getpid()) + ".";
  EXPECT_THAT(files_in(folder_ / "log"), ElementsAre(::testing::StartsWith(start)));
}

TEST_F(ProfilerRecording, SaysWhyATensorboardFolderCannotBeMade) {
  std::ofstream(path("log")) << "a file, not a folder";
  Profiler prof({.on_trace_ready = tensorboard_trace_handler(path("log/inner"))});
  train(prof, 1);
  EXPECT_THAT(
      messages_.take(),
      ElementsAre(::testing::StartsWith("error: Can't create directory: " + path("log/inner"))));
}

}  // namespace
}  // namespace sonde
