// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starting and stopping from outside: `sonde ctl`, signals, times.

#include <sys/socket.h>

#include <filesystem>

#include "agent/control.h"
#include "agent/run_environment.h"
#include "launched.h"

namespace sonde::testing {
namespace {

class Controlled : public ::testing::Test {
 protected:
  void launch(std::vector<std::string> options) {
    options.insert(options.end(), {"-o", "run.sonde", "--", RUN_SCOPES, "wait", "ready"});
    run_ = std::make_unique<Launched>(dir_, sonde_run(std::move(options)));
    ASSERT_TRUE(wait_for_file(dir_.file("ready")));
    program_ = program_of(*run_, RUN_SCOPES);
    ASSERT_GT(program_, 0);
  }
  // The answer or the error message of `sonde ctl`.
  std::string ctl(std::vector<std::string> request, int expected_status = 0) const {
    request.insert(request.begin(), {SONDE_PROGRAM, "ctl", std::to_string(program_)});
    Launched asked(dir_, std::move(request));
    const int status = asked.wait();
    EXPECT_EQ(status, expected_status) << asked.errors();
    return status == 0 ? asked.output() : asked.errors();
  }
  void end() {
    ASSERT_GT(program_, 0);
    ::kill(program_, SIGTERM);
    EXPECT_EQ(run_->wait(), 128 + SIGTERM);
  }
  bool stands(const std::string& state) const { return ctl({"status"}).rfind(state, 0) == 0; }
  Trace trace() const {
    auto opened = open_sonde(dir_.file("run.sonde"));
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? *opened : Trace();
  }
  // Whether the file has more than that many of its spans.
  bool is_recorded(std::size_t spans, std::size_t windows = 1) const {
    return eventually([&] {
      const Trace so_far = trace();
      return so_far.windows().size() >= windows && count_spans(so_far, "work") > spans;
    });
  }

  TempDir dir_;
  std::unique_ptr<Launched> run_;
  pid_t program_ = 0;
};

TEST_F(Controlled, StartsAndStopsWhenAsked) {
  launch({"--paused"});
  EXPECT_TRUE(stands("stopped"));
  EXPECT_EQ(ctl({"start"}), "recording to " + dir_.file("run.sonde") + "\n");
  EXPECT_TRUE(is_recorded(20));
  EXPECT_TRUE(stands("recording"));
  EXPECT_EQ(ctl({"stop"}), "stopped; " + dir_.file("run.sonde") + " can be opened\n");
  const std::size_t before = count_spans(trace(), "work");
  ctl({"start"});
  EXPECT_TRUE(is_recorded(before, 2));
  ctl({"stop"});
  end();
  EXPECT_EQ(trace().windows().size(), 2u);
}

TEST_F(Controlled, FilesCanBeOpenedWhileTheProgramRuns) {
  launch({});
  EXPECT_TRUE(is_recorded(10));
  end();
}

TEST_F(Controlled, RingsAreWrittenOutWhenAsked) {
  launch({"--policy", "ring"});
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(ctl({"snapshot", "now.sonde"}), "wrote " + dir_.file("now.sonde") + "\n");
    return HasFailure() || spans_in(dir_.file("now.sonde"), "work") > 10;
  }));
  EXPECT_EQ(ctl({"snapshot"}), "wrote " + dir_.file("run.snapshot-1.sonde") + "\n");
  EXPECT_NE(ctl({"snapshot", "run.sonde"}, 1).find("is being recorded to"), std::string::npos);
  end();
}

TEST_F(Controlled, SnapshotsOfOtherPoliciesAreRefusedWithWhatToDoInstead) {
  launch({});
  EXPECT_NE(ctl({"snapshot"}, 1).find("can be opened at any time"), std::string::npos);
  end();
}

TEST_F(Controlled, SignalsStartAndStop) {
  launch({"--signal-start", "USR1", "--signal-stop", "USR2"});
  EXPECT_TRUE(stands("stopped"));
  ::kill(program_, SIGUSR1);
  EXPECT_TRUE(eventually([&] { return stands("recording"); }));
  ::kill(program_, SIGUSR2);
  EXPECT_TRUE(eventually([&] { return stands("stopped"); }));
  end();
  EXPECT_EQ(trace().windows().size(), 1u);
}

TEST_F(Controlled, OneSignalStartsAndStopsInTurns) {
  launch({"--signal-start", "SIGUSR1", "--signal-stop", "SIGUSR1"});
  for (const char* state : {"recording", "stopped", "recording"}) {
    ::kill(program_, SIGUSR1);
    EXPECT_TRUE(eventually([&] { return stands(state); })) << state;
  }
  end();
  EXPECT_EQ(trace().windows().size(), 2u);
}

TEST_F(Controlled, SaysWhichSignalNeverCame) {
  for (const char* signal : {"USR1", "40"}) {  // realtime signals have no names
    launch({"--signal-start", signal});
    end();
    EXPECT_NE(run_->errors().find(std::string("waited for signal ") + signal + ","),
              std::string::npos)
        << run_->errors();
    std::filesystem::remove(dir_.file("ready"));
  }
}

TEST_F(Controlled, TimesBeginAndEndTheWindow) {
  launch({"--after", "200ms", "--for", "100ms"});
  EXPECT_TRUE(eventually([&] { return trace().windows().size() == 1; }));
  EXPECT_TRUE(eventually([&] { return stands("stopped"); }));
  end();
  const Trace recorded = trace();
  ASSERT_EQ(recorded.windows().size(), 1u);
  const Nanos length = recorded.windows().end_ns[0] - recorded.windows().start_ns[0];
  EXPECT_GE(length, 95'000'000);  // measured by another clock than the timer's
  EXPECT_LT(length, 5'000'000'000);
  EXPECT_GT(count_spans(recorded, "work"), 0u);
}

// Sockets that listen under such names and never accept, filled with connections.
class Strangers {
 public:
  explicit Strangers(pid_t pid) {
    for (const char* const rest : {"", "-", "-0", "-ffffffffffffffff"}) {
      const ControlAddress address(kControlPrefix + std::to_string(pid) + rest);
      sockets_.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      EXPECT_EQ(::bind(sockets_.back(), address.get(), address.size()), 0);
      EXPECT_EQ(::listen(sockets_.back(), 0), 0);
      int connected = 0;
      do {
        sockets_.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        connected = ::connect(sockets_.back(), address.get(), address.size());
      } while (connected == 0);
    }
  }
  ~Strangers() {
    for (const int socket : sockets_) ::close(socket);
  }
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;

 private:
  std::vector<int> sockets_;
};

TEST_F(Controlled, StrangersWithSuchNamesAreNotWaitedFor) {
  launch({});
  const Strangers strangers(program_);
  EXPECT_TRUE(stands("recording"));
  end();
}

// If each were waited for, the program would take ten seconds longer to end.
TEST_F(Controlled, WhoeverConnectsAndSaysNothingDoesNotKeepTheProgramFromEnding) {
  run_ = std::make_unique<Launched>(
      dir_, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "held", "10", "ready", "go"}));
  ASSERT_TRUE(wait_for_file(dir_.file("ready")));
  program_ = program_of(*run_, RUN_SCOPES);
  std::ifstream sockets("/proc/net/unix");
  const std::vector<std::string> names = control_names(sockets, program_);
  ASSERT_EQ(names.size(), 1u);
  std::vector<int> silent;
  for (int i = 0; i < 10; ++i) {
    const ControlAddress address(names.front());
    silent.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(silent.back(), address.get(), address.size()), 0);
  }
  const auto began = std::chrono::steady_clock::now();
  std::ofstream(dir_.file("go")).close();
  EXPECT_EQ(run_->wait(), 42);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  for (const int socket : silent) ::close(socket);
}

TEST_F(Controlled, AskingAProcessThatHasNoAgentSaysSo) {
  program_ = ::getpid();
  EXPECT_NE(ctl({"status"}, 1).find("has no Sonde agent"), std::string::npos);
  program_ = 2'000'000'000;
  EXPECT_EQ(ctl({"status"}, 1), "sonde: no such process: 2000000000\n");
}

}  // namespace
}  // namespace sonde::testing
