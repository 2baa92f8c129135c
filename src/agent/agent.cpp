// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/agent.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "agent/adapter.h"
#include "agent/report.h"
#include "agent/run_environment.h"
#include "agent/secrets.h"
#include "agent/start_stop_signals.h"
#include "base/json.h"
#include "base/own_process.h"
#include "base/signals.h"
#include "base/text.h"
#include "collect/distributed.h"
#include "collect/inferred_steps.h"
#include "collect/last_thread.h"
#include "collect/record_options.h"
#include "record/recorder.h"
#include "sonde/export.h"
#include "sonde/source/op.h"

namespace sonde {
namespace {

// A child of fork() that lives longer than this does not just call exec().
constexpr std::int64_t kForkGraceNs = 10'000'000;

// `sonde run` reads the same clock.
std::int64_t now_ns() {
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The command line as a JSON list.
std::string command_json(bool with_secrets) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  std::string json;
  for (const std::string& word : with_secrets ? words : without_secrets(words)) {
    json += json.empty() ? "[" : ", ";
    append_json_string(json, word);
  }
  return json.empty() ? "[]" : json + "]";
}

// A source serves only sessions that are opened after it, so OpenCL's layer must be loaded before
// the program uses OpenCL.
void open_opencl_layer(const std::string& report) {
  const char* const path = std::getenv(kRunOpencl);
  if (path == nullptr || ::dlopen(path, RTLD_NOW | RTLD_LOCAL) != nullptr) return;
  const char* const reason = ::dlerror();
  add_to_report(report, ReportKind::Error, reason != nullptr ? reason : path);
}

}  // namespace

struct AgentForkHandlers {
  static void before() {
    Agent& agent = Agent::instance();
    agent.mutex_.lock();
    agent.forks_in_sandbox_ = is_in_sandbox();
  }
  static void in_parent() { Agent::instance().mutex_.unlock(); }
  // The session, the thread and the socket belong to the parent.
  static void in_child() {
    Agent& agent = Agent::instance();
    new (&agent.mutex_) std::timed_mutex;
    // Never destroyed: in this process it does nothing.
    [[maybe_unused]] const auto* parents = new std::shared_ptr<Session>(std::move(agent.session_));
    agent.session_ = nullptr;
    agent.dump_watch_ = DumpWatch(agent.options_.dump);
    [[maybe_unused]] const ExecutionTraceObserver* too = agent.observer_.release();
    agent.server_.forget();
    agent.step_ = {};
    agent.partial_steps_.clear();
    [[maybe_unused]] const auto* demands = new OnDemand(std::move(agent.on_demand_));
    new (&agent.on_demand_) OnDemand;
    // A sandbox may end the child for the files and sockets that a recording needs.
    if (!agent.options_.follow_children || agent.forks_in_sandbox_) return;
    sonde_when_missed(begin_at_first_operator);
    agent.start_thread();
  }
  // A child that runs an operator does not just call exec().
  static void begin_at_first_operator() {
    Agent& agent = Agent::instance();
    const std::lock_guard lock(agent.mutex_);
    agent.open_forked();
  }
};

Agent& Agent::instance() {
  static auto* const agent = new Agent;
  return *agent;
}

void Agent::attach(const char* torch_library) {
  const std::lock_guard lock(mutex_);
  if (!begun_) {
    auto options = run_options_from([](const char* name) { return std::getenv(name); });
    if (!options) {
      const char* const report = std::getenv(kRunReport);
      return add_to_report(report != nullptr ? report : "", ReportKind::Error,
                           options.error().message);
    }
    options_ = *std::move(options);
    dump_watch_ = DumpWatch(options_.dump);
    // Before the adapter, which looks for steps only if somebody wants to know.
    sonde_when_steps_end(
        [](const char* rule, std::uint32_t count) { instance().end_steps(rule, count); });
    attach_cuda();
    open_opencl_layer(options_.report);
  }
  if (torch_library != nullptr) attach_torch(torch_library);
  if (std::exchange(begun_, true)) return;
  if (auto opened = open_session(!options_.paused && !options_.captures); !opened)
    return add_to_report(options_.report, ReportKind::Error, opened.error().message);
  if (auto installed = install_start_stop_signals(options_.signal_start, options_.signal_stop,
                                                  options_.dump.signal);
      !installed)
    add_to_report(options_.report, ReportKind::Error, installed.error().message);
  std::atexit([] { instance().end_with_program(0); });  // runs before the collector's
  // Knows the status, but comes late in a program that was linked with what is recorded; `sonde
  // run` notes the status of its own child.
  ::on_exit([](int status, void*) { instance().end_with_program(status & 0xff); }, nullptr);
  std::at_quick_exit([] { instance().end_with_program(0); });
  watch_threads();
  watch_captures();
  // Before main() begins, because requests may arrive as soon as the program runs.
  open_server();
  if (options_.on_demand) on_demand_.open(options_.report);
  start_thread();
  ::pthread_atfork(AgentForkHandlers::before, AgentForkHandlers::in_parent,
                   AgentForkHandlers::in_child);
}

// The collector would end the session too, but cannot report what went wrong. Another thread may be
// opening it just now.
void Agent::end_with_program(int status) {
  // By the agent's thread: the one that ends the program may be confined by a sandbox.
  if (ended_process_.load() == ::getpid()) return;
  const std::string ending = status == 0 ? "" : "status " + std::to_string(status);
  if (server_.ask(ending.empty() ? "end" : "end " + ending)) return;
  const std::unique_lock lock(mutex_, std::chrono::seconds(2));
  if (!lock.owns_lock() || session_ == nullptr) return;
  note_ending(ending);
  stop();
  close_session();
}

// "signal 6", "status 1"; empty if all is well.
void Agent::note_ending(const std::string& ending) {
  const std::size_t blank = ending.find(' ');
  if (blank == std::string::npos) return;
  // A session that is closed already knows.
  static_cast<void>(session_->set_metadata(
      std::string(kProgramEndedKey),
      "{\"" + ending.substr(0, blank) + "\": " + ending.substr(blank + 1) + "}"));
}

void Agent::close_session() {
  if (auto closed = session_->close(); !closed)
    add_to_report(options_.report, ReportKind::Error, closed.error().message);
  ended_process_.store(::getpid());
}

// Called before any session. It does nothing until the program uses CUDA.
void Agent::attach_cuda() {
  if (options_.cuda_library.empty()) return;
  if (auto attached = attach_library(options_.cuda_library); !attached)
    add_to_report(options_.report, ReportKind::Error, attached.error().message);
}

// A source serves only sessions that are opened after it, so an open session is replaced by a new
// one.
void Agent::attach_torch(const std::string& torch_library) {
  if (auto attached = attach_adapter(options_.adapters, torch_library); !attached) {
    return add_to_report(options_.report, ReportKind::Adapter, attached.error().message);
  }
  has_torch_ = true;
  open_execution_trace();
  if (session_ == nullptr) return;
  const bool was_recording = session_->recording();
  const std::shared_ptr<Session> before = std::exchange(session_, nullptr);
  if (auto opened = open_session(first_start_due_ || was_recording); !opened)
    return add_to_report(options_.report, ReportKind::Error, opened.error().message);
  if (was_recording) static_cast<void>(start());
}

Result<void> Agent::open_session(bool start_due) {
  SessionOptions session;
  SONDE_TRY(session.output, claim_output(options_.report, options_.output));
  session.budget_bytes = options_.budget_bytes;
  session.policy = options_.policy;
  session.ring_ns = options_.dump.ring_ns;
  session.record = options_.record;
  session.record.activities = supported_activities();
  SONDE_TRY(session_, Session::open(std::move(session)));
  ended_process_.store(0);
  add_to_report(options_.report, ReportKind::Recording, session_->path(), session_->file_id());
  SONDE_TRY_VOID(describe(*session_, options_.record));
  first_start_due_ = start_due;
  step_rule_known_ = false;
  partial_steps_.clear();
  advance();
  return {};
}

Result<void> Agent::describe(Session& session, const RecordOptions& record) const {
  SONDE_TRY_VOID(session.set_metadata("command", command_json(options_.keep_command_line)));
  if (const std::string job = launcher_job_json([](const char* name) { return std::getenv(name); });
      !job.empty())
    SONDE_TRY_VOID(session.set_metadata("job", job));
  for (const auto& [key, json] : record_metadata(record))
    SONDE_TRY_VOID(session.set_metadata(key, json));
  return {};
}

void Agent::open_execution_trace() {
  if (options_.execution_trace.empty() || !has_torch_ || observer_ != nullptr) return;
  auto observer = std::make_unique<ExecutionTraceObserver>();
  const auto opened = [&]() -> Result<void> {
    SONDE_TRY(const std::string pattern, claim_output(options_.report, options_.execution_trace));
    return observer->register_callback(pattern);
  }();
  if (!opened) return add_to_report(options_.report, ReportKind::Error, opened.error().message);
  observer_ = std::move(observer);
  add_to_report(options_.report, ReportKind::ExecutionTrace, observer_->output_file_path());
}

void Agent::open_forked() {
  if (session_ != nullptr) return;
  open_server();  // first: if the child ends now, it waits for the rest (src/preload/endings.cpp)
  open_execution_trace();
  if (auto opened = open_session(!options_.paused && !options_.captures); !opened) {
    add_to_report(options_.report, ReportKind::Error, opened.error().message);
    server_.forget();  // there is nothing to wait for
  }
  if (options_.on_demand) on_demand_.open(options_.report);
  sonde_when_missed(nullptr);  // last: until here, operators of other threads wait for us
}

// The recorder learns of threads that give up what recording needs.
void Agent::watch_threads() {
  void* const watch = ::dlsym(RTLD_DEFAULT, kWatchThreads);
  if (watch == nullptr) return;
  reinterpret_cast<WatchThreads*>(watch)([](int what) {
    detail::before_giving_up(what == 0 ? detail::GivenUp::Counter : detail::GivenUp::SystemCalls);
  });
}

void Agent::watch_captures() {
  void* const watch = options_.captures ? ::dlsym(RTLD_DEFAULT, kWatchCaptures) : nullptr;
  if (watch == nullptr) return;
  reinterpret_cast<WatchCaptures*>(watch)([](int begins) { instance().capture(begins != 0); });
}

void Agent::capture(bool begins) {
  const std::lock_guard lock(mutex_);
  if (session_ == nullptr) return;  // a child of fork() that does not record yet
  if (begins) static_cast<void>(start());
  if (!begins) stop();
}

void Agent::open_server() {
  if (auto opened = server_.open(); !opened)
    add_to_report(options_.report, ReportKind::Error, opened.error().message);
  struct stat facts = {};
  void* const came = ::dlsym(RTLD_DEFAULT, kAgentCame);
  if (came == nullptr || ::fstat(server_.own_end(), &facts) != 0) return;
  reinterpret_cast<AgentCame*>(came)(server_.own_end(),
                                     facts.st_ino);  // so that it asks us at the end
}

void Agent::start_thread() {
  const bool is_forked = session_ == nullptr;
  const SignalsBlocked blocked;
  try {
    std::thread([this, is_forked] { run(is_forked); }).detach();
  } catch (const std::system_error&) {
    add_to_report(options_.report, ReportKind::Error, "no thread could be started");
    server_.forget();  // nobody would answer
  }
}

void Agent::run(bool is_forked) {
  const OwnThread own;
  ::pthread_setname_np(::pthread_self(), kAgentThread);
  wake_this_thread_by_signals();
  if (is_forked) {
    const timespec grace = {0, kForkGraceNs};
    ::nanosleep(&grace, nullptr);
    const std::lock_guard lock(mutex_);
    open_forked();
  }
  const sigset_t mask = wake_mask();
  for (;;) {
    std::int64_t wait_ns = -1;
    {
      const std::lock_guard lock(mutex_);
      if (session_ == nullptr) return;
      heed_signals();
      wait_ns = advance();
    }
    try {
      write_dumps();
      if (const std::int64_t look = next_look_ns(); look >= 0 && (wait_ns < 0 || look < wait_ns))
        wait_ns = look;
      if (const std::int64_t more = heed_demands(); more >= 0 && (wait_ns < 0 || more < wait_ns))
        wait_ns = more;
      server_.serve(wait_ns, mask, on_demand_.descriptor(),
                    [this](const std::string& request) { return answer(request); });
    } catch (const std::bad_alloc&) {
      continue;  // the program has used up its memory; whoever asked gets no answer
    }
  }
}

std::int64_t Agent::advance() {
  const std::int64_t now = now_ns();
  if (first_start_due_) {
    if (steps_ < options_.from_step) return -1;  // end_steps() comes here again
    const std::int64_t begin = options_.started_ns + options_.after_ns;
    if (options_.after_ns > 0 && now < begin) return begin - now;
    static_cast<void>(start());
  }
  if (options_.for_ns == 0 || !session_->recording()) return -1;
  const std::int64_t end = window_began_ns_ + options_.for_ns;
  if (now < end) return end - now;
  stop();
  return -1;
}

void Agent::heed_signals() {
  for (auto request = next_signal_request(); request != SignalRequest::None;
       request = next_signal_request()) {
    if (request == SignalRequest::Dump) {
      dump_watch_.signal_came();
      continue;
    }
    const bool wanted =
        request == SignalRequest::Toggle ? !session_->recording() : request == SignalRequest::Start;
    if (wanted) static_cast<void>(start());
    if (!wanted) stop();
  }
}

Result<void> Agent::start() {
  first_start_due_ = false;
  if (session_->recording()) return {};
  window_began_ns_ = now_ns();
  window_began_step_ = steps_;
  if (observer_ != nullptr) observer_->start();
  return session_->begin_window(-1);
}

void Agent::end_steps(const std::string& rule, std::uint32_t count) {
  const std::lock_guard lock(mutex_);
  if (session_ == nullptr) return;  // a child of fork() that does not record yet
  // From the first step that the program marks itself, nothing else counts.
  program_marks_steps_ = program_marks_steps_ || is_marked_step(rule);
  if (program_marks_steps_ && !is_marked_step(rule)) return;
  if (count == 0) return end_step_span();
  steps_ += count;
  end_step_span();
  watch_step(count);
  if (on_demand_.step_ended(steps_, now_ns())) server_.tell("look");
  const bool is_over = options_.steps > 0 && steps_ - window_began_step_ >= options_.steps;
  if (session_->recording() && is_over)
    stop();
  else
    advance();
  Session* const demanded = on_demand_.recording();
  if (is_marked_step(rule) || (!session_->recording() && demanded == nullptr)) return;
  const std::string name = step_name(steps_);
  step_ = sonde_range_begin(name.data(), name.size());
  std::string json;
  append_json_string(json, rule);
  if (demanded != nullptr) static_cast<void>(demanded->set_metadata(inferred_steps_key(), json));
  if (session_->recording() && !std::exchange(step_rule_known_, true))
    static_cast<void>(session_->set_metadata(inferred_steps_key(), json));
}

// Nobody knows whether the step that runs now would have ended.
void Agent::note_partial_step() {
  if (step_.position == 0) return;
  partial_steps_ += (partial_steps_.empty() ? "" : ", ") + std::to_string(steps_);
  static_cast<void>(
      session_->set_metadata(std::string(kPartialStepsKey), "[" + partial_steps_ + "]"));
}

void Agent::end_step_span() {
  if (step_.position != 0) sonde_range_end(step_);
  step_ = {};
}

// The number of a step is that of its span.
void Agent::watch_step(std::uint32_t count) {
  const DumpRules& rules = options_.dump;
  if ((rules.slow_step_percent == 0 && rules.hang_ns == 0) || !session_->recording()) return;
  if (!std::exchange(steps_noted_, true)) add_to_report(options_.report, ReportKind::Steps, "");
  if (count != 1) dump_watch_.stopped();  // they are told of late
  if (dump_watch_.step_ended(steps_ - 1, now_ns())) server_.tell("look");
}

std::int64_t Agent::next_look_ns() {
  const std::lock_guard lock(mutex_);
  return session_ != nullptr && session_->recording() ? dump_watch_.wait_ns(now_ns()) : -1;
}

void Agent::write_dumps() {
  for (;;) {
    std::optional<DueDump> dump;
    std::shared_ptr<Session> session;
    {
      const std::lock_guard lock(mutex_);
      session = session_;
      if (session == nullptr || !session->recording()) return;
      const bool had_refused = dump_watch_.has_refused();
      dump = dump_watch_.due(now_ns());
      if (dump_watch_.has_refused() && !had_refused)
        add_to_report(options_.report, ReportKind::Dump, "");
    }
    if (!dump) return;
    const std::string path = dump_path(session->path(), dump->number);
    const auto written =
        session->snapshot({path, dump->at_least_ns, {{std::string(kDumpKey), dump->json}}});
    if (written)
      add_to_report(options_.report, ReportKind::Dump, path);
    else
      add_to_report(options_.report, ReportKind::Error, written.error().message);
  }
}

std::int64_t Agent::heed_demands() {
  std::int64_t wait_ns = -1;
  std::optional<OnDemand::Finished> finished;
  {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr) return -1;
    const std::int64_t now = now_ns();
    if (on_demand_.is_over(now)) end_demand();
    wait_ns = on_demand_.advance(now, [this](const Demand& demand) { return open_for(demand); });
    finished = on_demand_.take_finished();
  }
  if (finished) write(*finished);
  return wait_ns;
}

// The step that runs is not in it as a step, unless it goes on in the other recording.
void Agent::end_demand() {
  Session* const demanded = on_demand_.recording();
  if (demanded == nullptr) return;
  if (step_.position != 0)
    static_cast<void>(
        demanded->set_metadata(std::string(kPartialStepsKey), "[" + std::to_string(steps_) + "]"));
  if (!session_->recording()) end_step_span();
  on_demand_.end();
}

Result<std::unique_ptr<Session>> Agent::open_for(const Demand& demand) const {
  RecordOptions record = options_.record;
  add_to(record, demand.record);
  record.activities = supported_activities();
  SONDE_TRY(auto session, Session::open({.budget_bytes = options_.budget_bytes, .record = record}));
  SONDE_TRY_VOID(describe(*session, record));
  return session;
}

void Agent::write(const OnDemand::Finished& finished) const {
  const auto written = [&]() -> Result<void> {
    SONDE_TRY(const Trace trace, finished.session->read_window(0));
    return export_chrome_trace(trace, finished.path, {.threads = 1});
  }();
  if (written)
    add_to_report(options_.report, ReportKind::Demand, finished.path);
  else
    add_to_report(options_.report, ReportKind::Error, written.error().message);
}

void Agent::stop() {
  first_start_due_ = false;
  dump_watch_.stopped();
  note_partial_step();
  end_step_span();
  if (observer_ != nullptr) observer_->stop();
  session_->end_window();
}

std::string Agent::answer(const std::string& request) {
  const std::lock_guard lock(mutex_);
  if (session_ == nullptr) return "error this process is not recorded\n";
  if (request == "look") return "";  // the thread looks before it waits again
  const auto done = obey(request);
  return (done ? "ok " + *done : "error " + done.error().message) + "\n";
}

Result<std::string> Agent::obey(const std::string& request) {
  const std::size_t blank = request.find(' ');
  const std::string word = request.substr(0, blank);
  const std::string rest = blank == std::string::npos ? "" : request.substr(blank + 1);
  if (word == "start") {
    const bool before = session_->recording();
    SONDE_TRY_VOID(start());
    return (before ? "already recording to " : "recording to ") + session_->path();
  }
  if (word == "stop") {
    const bool before = session_->recording();
    stop();
    return (before ? "stopped; " : "not recording; ") + session_->path() + " can be opened";
  }
  if (word == "end") {
    end_demand();
    if (const auto finished = on_demand_.take_finished()) write(*finished);
    note_ending(rest);
    stop();
    close_session();
    return "ended " + session_->path();
  }
  if (word == "snapshot") return snapshot(rest);
  if (word == "status") return status();
  return Failure(ErrorCode::Invalid, "unknown request \"" + word + "\"");
}

Result<std::string> Agent::snapshot(std::string path) {
  if (options_.policy != BufferPolicy::Ring) {
    return Failure(ErrorCode::Unsupported, "snapshots need `--ring` or `--policy ring`; " +
                                               session_->path() + " can be opened at any time");
  }
  for (int number = 1; path.empty(); ++number) {
    const std::string next = before_suffix(session_->path(), "snapshot-" + std::to_string(number));
    std::error_code ignored;
    if (!std::filesystem::exists(next, ignored)) path = next;
  }
  std::error_code ignored;
  if (std::filesystem::equivalent(path, session_->path(), ignored))
    return Failure(ErrorCode::Invalid, path + ": is being recorded to; choose another name");
  SONDE_TRY_VOID(session_->snapshot({.path = path}));
  return "wrote " + path;
}

std::string Agent::status() const {
  const bool recording = session_->recording();
  const char* const state = recording ? "recording" : first_start_due_ ? "waiting" : "stopped";
  std::string text = state;
  if (recording) text += " for " + duration_text(now_ns() - window_began_ns_);
  text += "\nfile     " + session_->path();
  text += "\nwindows  " + std::to_string(session_->windows());
  return text;
}

}  // namespace sonde

extern "C" __attribute__((visibility("default"))) int sonde_agent_attach(
    const char* torch_library) {
  sonde::Agent::instance().attach(torch_library);
  return 0;
}
