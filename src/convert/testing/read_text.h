// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads traces from JSON in a test.
//
//   const Trace trace = read_events(R"({"ph": "X", "name": "a", "ts": 1, "dur": 2})");

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "convert/json/json_bytes.h"
#include "convert/kineto/read/read_kineto.h"
#include "trace/dump.h"

namespace sonde::testing {

inline Result<Trace> try_read(std::string_view text, unsigned threads = 1) {
  SONDE_TRY(const PaddedBytes bytes, PaddedBytes::copy_of(text));
  return read_kineto(bytes.text(), "text", TraceBuilder(), threads);
}

// Fails the test if there is no trace.
inline Trace read(std::string_view text, unsigned threads = 1) {
  Result<Trace> trace = try_read(text, threads);
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? *std::move(trace) : Trace();
}

// Reads the events as a JSON array.
inline Trace read_events(const std::string& events) {
  return read("[" + events + "]");
}

inline std::string dumped(const Trace& trace) {
  return dump_text(trace);
}

// The total count of a kind in the ledger.
inline std::uint64_t ledger_count(const Trace& trace, LedgerKind kind) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < trace.ledger().size(); ++i) {
    if (trace.ledger().kind[i] == kind) count += trace.ledger().count[i];
  }
  return count;
}

inline std::string ledger_detail(const Trace& trace, LedgerKind kind) {
  for (std::size_t i = 0; i < trace.ledger().size(); ++i) {
    if (trace.ledger().kind[i] == kind) {
      return std::string(trace.string(trace.ledger().detail[i]));
    }
  }
  return {};
}

// The value of the first extra of that key.
inline std::string extra(const Trace& trace, std::string_view key) {
  for (std::size_t i = 0; i < trace.extras().size(); ++i) {
    if (trace.string(trace.extras().key[i]) == key) {
      return std::string(trace.string(trace.extras().value[i]));
    }
  }
  return {};
}

}  // namespace sonde::testing
