// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `sonde run --on-demand`: a program records when a daemon asks for it.

#include <cstdlib>
#include <optional>

#include "agent/daemon_socket.h"
#include "launched.h"
#include "sonde/open.h"

namespace sonde::testing {
namespace {

class Demanded : public ::testing::Test {
 protected:
  // Each test has a daemon's name of its own.
  Demanded() { ::setenv("KINETO_IPC_SOCKET_DIR", dir_.path().c_str(), 1); }
  ~Demanded() override { ::unsetenv("KINETO_IPC_SOCKET_DIR"); }

  void launch(std::vector<std::string> options, std::vector<std::string> program) {
    options.insert(options.begin(), {"--on-demand", "-o", "run.sonde"});
    options.emplace_back("--");
    options.insert(options.end(), program.begin(), program.end());
    run_ = std::make_unique<Launched>(dir_, sonde_run(std::move(options)));
    program_ = program_of(*run_, program.front());
    ASSERT_GT(program_, 0);
  }
  // The traces that `sonde trigger` printed the names of.
  std::vector<Trace> trigger(std::vector<std::string> options) {
    options.insert(options.begin(), {SONDE_PROGRAM, "trigger", "--pid", std::to_string(program_),
                                     "-o", dir_.file("traces")});
    Launched trigger(dir_, std::move(options));
    EXPECT_EQ(trigger.wait(), 0) << trigger.errors();
    std::vector<Trace> traces;
    std::istringstream names(trigger.output());
    for (std::string name; std::getline(names, name);) {
      names_.push_back(name);
      auto trace = open_trace(name);
      EXPECT_TRUE(trace) << trace.error().message;
      if (trace) traces.push_back(*std::move(trace));
    }
    return traces;
  }
  // Answers the next question of the program; its file's name is demanded_PID.json.
  void answer(const std::string& configuration) {
    auto daemon = DaemonSocket::open(kDaemonName);
    ASSERT_TRUE(daemon) << daemon.error().message;
    std::optional<DaemonSocket::Received> received;
    ASSERT_TRUE(eventually([&] { return (received = daemon->receive()).has_value(); }));
    EXPECT_EQ(received->message.type, kDaemonAsks);
    EXPECT_TRUE(daemon->send({std::string(kDaemonAsks), configuration}, received->from));
  }
  std::string demanded(const std::string& suffix = ".json") const {
    return dir_.file("demanded_" + std::to_string(program_) + suffix);
  }
  std::string end() {
    ::kill(program_, SIGTERM);
    EXPECT_EQ(run_->wait(), 128 + SIGTERM);
    return run_->errors();
  }
  std::vector<std::string> recordings() const { return files_ending_in(dir_.path(), ".sonde"); }

  TempDir dir_;
  std::unique_ptr<Launched> run_;
  pid_t program_ = 0;
  std::vector<std::string> names_;
};

TEST_F(Demanded, AProgramRecordsItselfWhenTriggered) {
  launch({}, {RUN_SCOPES, "wait", "ready"});
  for (const char* const name : {"/trace_", "/trace-2_"}) {
    const std::vector<Trace> traces = trigger({"--for", "50ms"});
    ASSERT_EQ(traces.size(), 1u);
    EXPECT_EQ(names_.back(), dir_.file("traces") + name + std::to_string(program_) + ".json");
    EXPECT_GT(count_spans(traces[0], "work"), 10u);
    EXPECT_GT(traces[0].last_ns() - traces[0].first_ns(), 40'000'000);
    EXPECT_LT(traces[0].last_ns() - traces[0].first_ns(), 10'000'000'000);
  }
  EXPECT_NE(end().find("written on demand"), std::string::npos) << run_->errors();
  EXPECT_TRUE(recordings().empty()) << recordings().front();
}

TEST_F(Demanded, StepsAreCounted) {
  launch({}, {RUN_SCOPES, "steps", "100000", "-1"});
  const std::vector<Trace> traces = trigger({"--steps", "3"});
  ASSERT_EQ(traces.size(), 1u);
  const SpanTable& spans = traces[0].spans();
  std::size_t steps = 0;
  for (std::size_t i = 0; i < spans.size(); ++i)
    steps += traces[0].string(spans.name[i]).starts_with("ProfilerStep#") ? 1 : 0;
  EXPECT_EQ(steps, 3u);
  EXPECT_EQ(count_spans(traces[0], "work"), 30u);
  end();
}

TEST_F(Demanded, ItDoesNotDisturbTheRing) {
  launch({"--dump-on", "exit!=0"}, {RUN_SCOPES, "wait", "ready"});
  answer("ACTIVITIES_LOG_FILE=" + dir_.file("demanded.json") + "\nACTIVITIES_DURATION_MSECS=20\n");
  EXPECT_TRUE(wait_for_file(demanded()));
  end();
  EXPECT_GT(spans_in(dir_.file("run.001.sonde"), "work"), 10u) << run_->errors();
}

TEST_F(Demanded, AnEndingProgramWritesWhatItHas) {
  launch({}, {RUN_SCOPES, "held", "1000", "ready", "go"});
  answer("ACTIVITIES_LOG_FILE=" + dir_.file("demanded.json") + "\nACTIVITIES_DURATION_SECS=100\n");
  // The window is open when the next question does not come.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  std::ofstream(dir_.file("go")) << "";
  EXPECT_EQ(run_->wait(), 42);
  EXPECT_TRUE(std::filesystem::exists(demanded())) << run_->errors();
}

TEST_F(Demanded, NonsenseIsToldAndChangesNothing) {
  launch({}, {RUN_SCOPES, "wait", "ready"});
  answer("ACTIVITIES_DURATION_MSECS=soon\n");
  answer("ACTIVITIES_LOG_FILE=/there/is/no/such/folder.json\nACTIVITIES_DURATION_MSECS=1\n");
  answer("PROFILE_START_TIME=1000\n");
  answer("ACTIVITIES_LOG_FILE=" + dir_.file("demanded.json") + "\nACTIVITIES_DURATION_MSECS=1\n");
  EXPECT_TRUE(wait_for_file(demanded()));
  const std::string said = end();
  for (const char* const text : {"ACTIVITIES_DURATION_MSECS=soon: not understood",
                                 "/there/is/no/such/folder_", "more than ten seconds late"})
    EXPECT_NE(said.find(text), std::string::npos) << said;
}

TEST_F(Demanded, TheProfilerOfTorchIsNotAskedToo) {
  ::setenv("KINETO_USE_DAEMON", "1", 1);
  Launched run(dir_, sonde_run({"--on-demand", "-q", "--", "/usr/bin/env"}));
  ::unsetenv("KINETO_USE_DAEMON");
  EXPECT_EQ(run.wait(), 0);
  EXPECT_EQ(run.output().find("KINETO_USE_DAEMON"), std::string::npos) << run.output();
}

TEST_F(Demanded, SaysThatNobodyAsked) {
  Launched run(dir_, sonde_run({"--on-demand", "--", RUN_SCOPES, "work", "10"}));
  EXPECT_EQ(run.wait(), 0);
  EXPECT_NE(run.errors().find("nobody asked for a recording"), std::string::npos) << run.errors();
}

}  // namespace
}  // namespace sonde::testing
