// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads JSON of any content as an execution trace, checks it and writes it again.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "convert/execution_trace/read_nodes.h"
#include "promises.h"
#include "sonde/analyse/execution_trace.h"
#include "trace/execution_trace_text.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using sonde::testing::require;
  auto text = sonde::PaddedBytes::copy_of({reinterpret_cast<const char*>(data), size});
  if (!text) return 0;
  static_cast<void>(sonde::looks_like_execution_trace(text->text()));
  const auto et = sonde::read_execution_trace(*std::move(text), "fuzz");
  if (!et) return 0;
  const sonde::ExecutionTraceSummary summary = sonde::execution_trace_summary(*et);
  require(summary.operators + summary.annotations + summary.threads <= et->nodes.size());
  require(summary.tensors_from_outside <= summary.tensors);
  for (const sonde::ExecutionTraceNode& node : et->nodes) {
    std::string written;
    sonde::append_execution_trace_node(written, node);
    require(sonde::validate_json(written).has_value());
  }
  return 0;
}
