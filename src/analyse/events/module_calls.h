// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Calls of modules among the spans: Python's profiler names them "nn.Module: Linear_0".

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "sonde/trace.h"

namespace sonde::detail {

class ModuleCalls {
 public:
  explicit ModuleCalls(const Trace& trace) : trace_(trace) {}

  bool is(SpanId span);
  // The innermost call at or around a span; invalid if there is none.
  SpanId around(SpanId span);
  // "Linear_0"
  std::string_view name(SpanId call) const;

 private:
  const Trace& trace_;
  std::unordered_map<std::uint32_t, bool> known_;  // by name
};

}  // namespace sonde::detail
