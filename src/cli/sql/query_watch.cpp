// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/sql/query_watch.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/format.h"
#include "cli/print/output.h"
#include "cli/sql/sql.h"

namespace sonde::cli {
namespace {

constexpr std::int64_t kPatienceNs = 1'000'000'000;
constexpr std::chrono::milliseconds kLookEvery{200};

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

[[noreturn]] void end_process(std::string_view why) {
  say(why);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

QueryWatch::QueryWatch(double limit_s) : limit_s_(limit_s), thread_([this] { watch(); }) {}

QueryWatch::~QueryWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

Result<bool> QueryWatch::next(SqlQuery& query) {
  const std::int64_t begin = now_ns();
  began_ns_.store(begin, std::memory_order_relaxed);
  Result<bool> row = query.next();
  began_ns_.store(0, std::memory_order_relaxed);
  used_ns_.fetch_add(now_ns() - begin, std::memory_order_relaxed);
  return row;
}

void QueryWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kLookEvery, [this] { return is_over_; })) look(now_ns());
}

void QueryWatch::look(std::int64_t now_ns) {
  const std::int64_t began = began_ns_.load(std::memory_order_relaxed);
  if (began == 0) return;
  const std::int64_t used = used_ns_.load(std::memory_order_relaxed) + now_ns - began;
  if (limit_s_ > 0 && static_cast<double>(used - kPatienceNs) > limit_s_ * 1e9)
    end_process(
        format_text("the query took longer than {:g} s; --time-limit allows more", limit_s_));
  if (!interrupted()) return;
  if (interrupted_ns_ == 0) interrupted_ns_ = now_ns;
  if (now_ns - std::max(interrupted_ns_, began) > kPatienceNs)
    end_process("the query was interrupted");
}

}  // namespace sonde::cli
