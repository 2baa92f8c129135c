// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Runs pipeline_victim for a test: starts it, watches it, kills it, and examines what is left.

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "collect/testing/recorded.h"
#include "progress.h"
#include "trace/testing/temp_dir.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace sonde::testing {

class Victim {
 public:
  // `environment`: its variables; by default those of this process.
  Victim(const TempDir& dir, const std::string& policy, const std::string& ending,
         char** environment = environ)
      : output_(dir.file("victim.sonde")),
        progress_path_(dir.file("progress-" + std::to_string(++count()))) {
    progress_ = map_progress(progress_path_);
    std::string program = SONDE_VICTIM;
    std::string policy_argument = policy;
    std::string ending_argument = ending;
    char* arguments[] = {program.data(),         output_.data(),        policy_argument.data(),
                         ending_argument.data(), progress_path_.data(), nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, program.c_str(), nullptr, nullptr, arguments, environment), 0);
  }
  ~Victim() {
    ::munmap(progress_, sizeof(Progress));
    std::filesystem::remove(progress_path_);
    std::filesystem::remove(output_);
    std::filesystem::remove(output_ + ".live");
  }

  bool both_work() const {
    return progress_->completed[0].load() > 0 && progress_->completed[1].load() > 0;
  }
  // Also returns if it has died.
  void wait_until_both_work() const {
    while (!both_work() && lives()) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  void kill() const { ::kill(pid_, SIGKILL); }
  void end() const { ::kill(pid_, SIGTERM); }
  int wait() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return status;
  }
  bool lives() const {
    siginfo_t ended = {};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0;
  }
  // Whether it goes on recording.
  bool goes_on() const {
    const std::uint64_t before = completed();
    while (completed() == before && lives()) std::this_thread::yield();
    return completed() != before && lives();
  }
  std::uint64_t completed() const {
    return progress_->completed[0].load() + progress_->completed[1].load();
  }
  const std::string& output() const { return output_; }

 private:
  static int& count() {
    static int started = 0;
    return started;
  }

  std::string output_;
  std::string progress_path_;
  Progress* progress_ = nullptr;
  pid_t pid_ = 0;
};

// Every scope that ended before the kill is there, and open ones are shown as unfinished.
inline void expect_all_there(const Victim& victim, const std::string& output) {
  const auto trace = open_sonde(output);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(ledger_sum(*trace, LedgerKind::DroppedByBudget), 0u);
  std::size_t finished = 0;
  for (const SpanId span : trace->all_spans()) {
    if (trace->name(span) == "work" && (trace->spans().flags[span] & SpanFlags::kUnfinished) == 0)
      ++finished;
    ASSERT_FALSE(trace->name(span).empty());
  }
  EXPECT_GE(finished, victim.completed());
  EXPECT_LE(finished, victim.completed() + 2)
      << "each worker may have ended one more than it reported";
  const SpanId open = find_span(*trace, "for ever");
  EXPECT_NE(trace->spans().flags[open] & SpanFlags::kUnfinished, 0);
  EXPECT_EQ(trace->spans().duration_ns[open], trace->last_ns() - trace->spans().start_ns[open]);
  EXPECT_EQ(ledger_sum(*trace, LedgerKind::Unmatched), 0u);
  EXPECT_EQ(ledger_sum(*trace, LedgerKind::Undecodable), 0u);
}

inline void expect_all_there(const Victim& victim) {
  expect_all_there(victim, victim.output());
}

}  // namespace sonde::testing
