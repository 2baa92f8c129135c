// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/on_demand.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "agent/report.h"
#include "base/new_file.h"

namespace sonde {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kAskEvery = kSecond;
// As PyTorch does: a request that is older is dropped.
constexpr std::int64_t kLatest = 10 * kSecond;
// A program that steps at all does so within this time.
constexpr std::int64_t kMostPatience = 60 * kSecond;
constexpr std::int32_t kActivities = 2;

std::int64_t parent_of(std::int64_t pid) {
  std::string line;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), line);
  const std::size_t name_end = line.rfind(')');  // the name may contain blanks
  if (name_end == std::string::npos || name_end + 4 > line.size()) return 0;
  return std::atoll(line.c_str() + name_end + 4);
}

// The process, and those it was started by.
std::vector<std::int32_t> own_pids() {
  constexpr std::size_t kMost = 10;
  std::vector<std::int32_t> pids;
  for (std::int64_t pid = ::getpid(); pid > 1 && pids.size() < kMost; pid = parent_of(pid))
    pids.push_back(static_cast<std::int32_t>(pid));
  return pids;
}

std::int64_t slurm_job() {
  const char* const text = std::getenv("SLURM_JOB_ID");
  std::int64_t job = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), job);
  return job;
}

template <typename Number>
void append(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

std::string question() {
  const std::vector<std::int32_t> pids = own_pids();
  std::string body;
  append(body, kActivities);
  append(body, static_cast<std::int32_t>(pids.size()));
  append(body, slurm_job());
  for (const std::int32_t pid : pids) append(body, pid);
  return body;
}

std::int64_t since_1970_ns() {
  timespec time = {};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return std::int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

}  // namespace

void OnDemand::open(const std::string& report) {
  report_ = report;
  auto opened = DaemonSocket::open("dynoconfigclient" + random_digits());
  if (!opened) return complain(opened.error().message);
  socket_.emplace(*std::move(opened));
}

void OnDemand::complain(const std::string& problem) const {
  add_to_report(report_, ReportKind::Error, problem);
}

std::int64_t OnDemand::advance(std::int64_t now_ns, const OpenSession& open_session) {
  if (!socket_) return -1;
  receive(now_ns, open_session);
  if (session_ != nullptr && began_ns_ == 0 && now_ns >= begin_at_ns_) {
    if (demand_.steps > 0) {
      complain("a recording of steps was requested, but no step ended within a minute");
      session_.reset();
    } else {
      begin(now_ns);
    }
  }
  if (is_over(now_ns)) end();
  if (now_ns >= ask_at_ns_) ask();
  ask_at_ns_ = std::max(ask_at_ns_, now_ns + (now_ns >= ask_at_ns_ ? kAskEvery : 0));
  return std::max<std::int64_t>(std::min(ask_at_ns_, next_event_ns()) - now_ns, 1);
}

std::int64_t OnDemand::next_event_ns() const {
  if (session_ == nullptr) return ask_at_ns_;
  if (began_ns_ == 0) return begin_at_ns_;
  return demand_.steps > 0 ? ask_at_ns_ : began_ns_ + demand_.duration_ns;
}

// While something is recorded nothing else is asked for.
void OnDemand::ask() {
  if (!socket_ || session_ != nullptr || finished_) return;
  const Result<DaemonAddress> daemon = daemon_address(kDaemonName);
  if (daemon) socket_->send({std::string(kDaemonAsks), question()}, *daemon);
}

void OnDemand::receive(std::int64_t now_ns, const OpenSession& open_session) {
  if (!socket_) return;
  while (const auto received = socket_->receive()) {
    const DaemonMessage& message = received->message;
    if (message.type != kDaemonAsks || message.body.empty()) continue;
    if (const auto accepted = accept(message.body, now_ns, open_session); !accepted)
      complain(accepted.error().message);
  }
}

Result<void> OnDemand::accept(const std::string& configuration, std::int64_t now_ns,
                              const OpenSession& open_session) {
  if (session_ != nullptr || finished_)
    return Failure(ErrorCode::Invalid, "a request to record came while another was being served");
  SONDE_TRY(const Demand demand, demand_from(configuration));
  std::int64_t wait_ns = demand.steps > 0 ? kMostPatience : 0;
  if (demand.steps == 0 && demand.start_ms > 0) {
    wait_ns = demand.start_ms * 1'000'000 - since_1970_ns();
    if (wait_ns < -kLatest)
      return Failure(ErrorCode::Invalid, "a request to record was more than ten seconds late");
  }
  SONDE_TRY(session_, open_session(demand));
  demand_ = demand;
  began_ns_ = 0;
  begin_at_ns_ = now_ns + std::max<std::int64_t>(wait_ns, 0);
  return {};
}

void OnDemand::begin(std::int64_t now_ns) {
  if (const auto begun = session_->begin_window(-1); !begun) {
    complain(begun.error().message);
    session_.reset();
    return;
  }
  began_ns_ = now_ns;
}

bool OnDemand::is_over(std::int64_t now_ns) const {
  return began_ns_ != 0 && demand_.steps == 0 && now_ns >= began_ns_ + demand_.duration_ns;
}

bool OnDemand::step_ended(std::int64_t steps, std::int64_t now_ns) {
  if (session_ == nullptr || demand_.steps == 0) return false;
  if (began_ns_ != 0 && steps >= began_step_ + demand_.steps) {
    end();
    return true;
  }
  const bool begins =
      began_ns_ == 0 && steps >= demand_.first_step && steps % demand_.multiple_of == 0;
  if (begins) begin(now_ns);
  began_step_ = begins ? steps : began_step_;
  return false;
}

void OnDemand::end() {
  if (began_ns_ == 0) return;
  session_->end_window();
  finished_.emplace(Finished{std::move(session_), demand_file(demand_, ::getpid())});
  session_ = nullptr;
  began_ns_ = 0;
}

}  // namespace sonde
