// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes its input for a request of a page: the target up to the first line break, then the body.
// Asks a small trace with nested, overlapping and unfinished spans.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "promises.h"
#include "sonde/trace/builder.h"
#include "view/timeline/view_service.h"

namespace {

using namespace sonde;

Trace small_trace() {
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back({});
  TrackRow row;
  row.process = process;
  const TrackId thread = builder.tracks().push_back(row);
  row.kind = TrackKind::Stream;
  row.device_index = 0;
  const TrackId stream = builder.tracks().push_back(row);
  for (int i = 0; i < 300; ++i) {
    SpanRow span;
    span.track = i % 3 == 0 ? stream : thread;
    span.kind = i % 3 == 0 ? SpanKind::Kernel : SpanKind::CpuOp;
    span.start_ns = 1'700'000'000'000'000'000 + i * 37;
    span.duration_ns = i % 7 * 90;
    span.name = builder.intern(i % 5 == 0 ? "</script>" : "aten::mm");
    if (i % 11 == 0) span.flags = SpanFlags::kUnfinished;
    builder.spans().push_back(span);
  }
  return *std::move(builder).build();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using sonde::testing::require;
  static const sonde::detail::ViewService service(small_trace(), "fuzz");
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = input.find('\n');
  const std::string_view body = line == std::string_view::npos ? "" : input.substr(line + 1);
  const sonde::detail::ViewAnswer answer = service.answer(input.substr(0, line), body);
  require(answer.status == 200 || answer.status == 400 || answer.status == 404);
  if (answer.type == "application/json")
    require(sonde::validate_json(answer.body).has_value() &&
            answer.body.find("</script") == std::string::npos);
  return 0;
}
