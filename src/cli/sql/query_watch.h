// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Ends the process if a query does not end when it should.
//
//   QueryWatch watch(time_limit_s);
//   while (*watch.next(query)) …
//
// SQLite asks often whether a query is to end, but not while it works on a single value, such as
// instr() of long texts, or while Sonde computes a table. If the time limit or Ctrl-C has no effect
// for a second, there is no other way.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "sonde/sql.h"

namespace sonde::cli {

class QueryWatch {
 public:
  explicit QueryWatch(double limit_s);  // 0: none
  ~QueryWatch();
  QueryWatch(const QueryWatch&) = delete;
  QueryWatch& operator=(const QueryWatch&) = delete;

  // query.next(), watched.
  Result<bool> next(SqlQuery& query);

 private:
  void watch();
  void look(std::int64_t now_ns);

  double limit_s_;
  std::atomic<std::int64_t> began_ns_{0};  // when the step began that is being made; 0: none
  std::atomic<std::int64_t> used_ns_{0};   // by the steps before
  std::int64_t interrupted_ns_ = 0;        // when Ctrl-C was first seen
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace sonde::cli
