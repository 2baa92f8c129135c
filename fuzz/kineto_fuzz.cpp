// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads JSON traces of any content: as text, and as gzip if it begins like gzip.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convert/gunzip.h"
#include "convert/json/json_bytes.h"
#include "convert/kineto/read/read_kineto.h"
#include "convert/testing/read_in_parts.h"
#include "promises.h"
#include "sonde/analyse/dynamo.h"
#include "sonde/analyse/graphs.h"
#include "sonde/analyse/patterns.h"
#include "sonde/analyse/report.h"
#include "sonde/view/trace_page.h"
#include "trace/dump.h"

namespace {

using namespace sonde;

// Runs the analyses that depend on names, wherever names occur and however long their spans are.
void ask(const Trace& trace) {
  using sonde::testing::require;
  const GraphCoverage graphs = graph_coverage(trace);
  std::uint64_t ops = 0;
  for (const GraphRegion& region : graphs.regions) ops += region.share.ops;
  require(ops == graphs.inside.ops);
  const std::vector<PatternMatches> patterns = match_patterns(trace);
  require(patterns.size() == kPatterns);
  static_cast<void>(tidy_report(trace, patterns));
  const Report found = report(trace);
  for (const DeviceTime& device : found.devices)
    require(device.busy_ns + device.idle_ns == device.extent_ns() && device.busy_ns >= 0);
  static_cast<void>(trace_page(trace, "fuzz"));
  static_cast<void>(dynamo::profile_result(function_events(trace), 1));
}

// Without the ledger row about texts that are not JSON: it names the first one found, even if that
// is in an event that was left out.
std::string dumped(const Trace& trace) {
  std::string text = dump_text(trace);
  const std::size_t detail = text.find("texts were not valid JSON and were repaired");
  if (detail == std::string::npos) return text;
  const std::size_t line = text.rfind('\n', detail);
  return text.erase(line, text.find('\n', detail) - line);
}

void read(std::string_view text) {
  const Result<PaddedBytes> bytes = PaddedBytes::copy_of(text);
  if (!bytes) return;
  const Result<Trace> trace = read_kineto(bytes->text(), "text", TraceBuilder(), 1);
  const Result<Trace> in_parts = sonde::testing::read_in_parts(bytes->text(), {300, 100, 20});
  sonde::testing::require(trace.has_value() == in_parts.has_value());
  if (!trace) return;
  sonde::testing::require(dumped(*trace) == dumped(*in_parts));
  sonde::testing::check_promises(*trace);
  ask(*trace);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  if (is_gzip(bytes)) {
    const Result<Gunzipped> text = gunzip(bytes);
    if (text && text->text.text().size() < (1 << 24)) read(text->text.text());
  }
  read({reinterpret_cast<const char*>(data), size});
  return 0;
}
