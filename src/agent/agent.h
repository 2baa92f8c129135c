// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Records a program under `sonde run`: a session, and a thread that begins and ends its windows by
// time, by signal or on request of `sonde ctl`. There is one agent per process. It is never
// destroyed. Its session is finished when the program ends, like every session.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "agent/control_server.h"
#include "agent/dump_watch.h"
#include "agent/on_demand.h"
#include "agent/run_options.h"
#include "collect/session.h"
#include "sonde/profile/execution_trace.h"
#include "sonde/result.h"
#include "sonde/sonde.h"

namespace sonde {

class Agent {
 public:
  static Agent& instance();

  // Opens the session at the first call, and starts it if it is time. If libtorch is loaded,
  // records it too.
  void attach(const char* torch_library);

 private:
  Agent() = default;
  friend struct AgentForkHandlers;

  Result<void> open_session(bool start_due);
  Result<void> describe(Session& session, const RecordOptions& record) const;
  void attach_torch(const std::string& torch_library);
  void attach_cuda();
  void open_execution_trace();
  void open_forked();
  void end_with_program(int status);
  void note_ending(const std::string& ending);
  void close_session();
  static void watch_threads();
  void watch_captures();
  // Called by the thread of the program that begins or ends what it wants to have recorded.
  void capture(bool begins);
  void open_server();
  void start_thread();
  void run(bool is_forked);

  // Does what is due; returns the time until the next task in ns, or -1.
  std::int64_t advance();
  void heed_signals();
  Result<void> start();
  void stop();
  // Called by the thread of the program that ended a step.
  void end_steps(const std::string& rule, std::uint32_t count);
  void end_step_span();
  void note_partial_step();
  void watch_step(std::uint32_t count);

  // Writes what is due. Not with the mutex held: threads of the program end their steps meanwhile.
  void write_dumps();
  std::int64_t next_look_ns();

  // The same for what a daemon demands; returns the time until there may be more to do.
  std::int64_t heed_demands();
  Result<std::unique_ptr<Session>> open_for(const Demand& demand) const;
  void write(const OnDemand::Finished& finished) const;
  void end_demand();

  std::string answer(const std::string& request);
  Result<std::string> obey(const std::string& request);
  Result<std::string> snapshot(std::string path);
  std::string status() const;

  std::atomic<pid_t> ended_process_{0};  // whose session is closed; a child of fork() has its own
  // Guards everything below except the server, which only the thread uses once it is open.
  std::timed_mutex mutex_;
  bool begun_ = false;
  RunOptions options_;
  std::shared_ptr<Session> session_;
  std::unique_ptr<ExecutionTraceObserver> observer_;  // null: not requested, or no libtorch
  bool has_torch_ = false;
  bool forks_in_sandbox_ = false;  // at the last fork()
  bool first_start_due_ = false;   // the one requested by the options
  std::int64_t window_began_ns_ = 0;
  std::int64_t steps_ = 0;  // that have ended
  std::int64_t window_began_step_ = 0;
  sonde_range step_ = {};      // the span of the step that runs; position 0: none
  std::string partial_steps_;  // the numbers of those that did not end, as metadata has them
  bool program_marks_steps_ = false;
  bool step_rule_known_ = false;  // by the session
  OnDemand on_demand_;
  DumpWatch dump_watch_;
  bool steps_noted_ = false;  // in the run log
  ControlServer server_;
};

}  // namespace sonde
