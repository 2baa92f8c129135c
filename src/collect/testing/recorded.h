// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// For tests that record: open a session, run something in a window of it, and read the trace.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "collect/session.h"
#include "sonde/trace.h"

namespace sonde::testing {

inline std::unique_ptr<Session> open_session(SessionOptions options) {
  auto session = Session::open(std::move(options));
  if (!session) {
    ADD_FAILURE() << session.error().message;
    return nullptr;
  }
  return *std::move(session);
}

// Runs `body` in the session's next window and reads that window back.
template <typename Body>
Trace record_window(Session& session, Body&& body, std::int64_t first_step = 0) {
  const auto begun = session.begin_window(first_step);
  EXPECT_TRUE(begun) << begun.error().message;
  body();
  session.end_window();
  auto trace = session.read_window(session.windows() - 1);
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? *trace : Trace();
}

// The trace of `body`, recorded in a window of a new session.
template <typename Body>
Trace record_once(Body&& body) {
  const auto session = open_session({});
  return record_window(*session, std::forward<Body>(body));
}

inline std::size_t count_spans(const Trace& trace, std::string_view name) {
  std::size_t count = 0;
  for (const SpanId span : trace.all_spans()) count += trace.name(span) == name ? 1 : 0;
  return count;
}

// The first span of that name; fails the test if there is none.
inline SpanId find_span(const Trace& trace, std::string_view name) {
  for (const SpanId span : trace.all_spans()) {
    if (trace.name(span) == name) return span;
  }
  ADD_FAILURE() << "no span named " << name;
  return SpanId(0);
}

// The sum of the rows of that kind whose detail begins with `detail`.
inline std::uint64_t ledger_sum(const Trace& trace, LedgerKind kind, std::string_view detail = {}) {
  std::uint64_t sum = 0;
  const LedgerTable& ledger = trace.ledger();
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    const bool fits = trace.string(ledger.detail[i]).starts_with(detail);
    if (ledger.kind[i] == kind && fits) sum += ledger.count[i];
  }
  return sum;
}

}  // namespace sonde::testing
