// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// export_tool IN OUT: opens a trace of any format and writes it in the format of OUT's suffix.
// export_tool --awkward OUT: writes a trace of everything that is hard to write.

#include <cstdio>
#include <string>
#include <string_view>

#include "sonde/export.h"
#include "sonde/open.h"
#include "sonde/trace/builder.h"

namespace {

using namespace sonde;  // NOLINT(google-build-using-namespace)

Trace awkward_trace() {
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back(
      {.pid = 7, .rank = 1, .world_size = 2, .host = builder.intern("host \"a\"")});
  const TrackId thread = builder.tracks().push_back(
      {.process = process, .id = 7, .name = builder.intern("main\n\xff")});
  const TrackId stream = builder.tracks().push_back(
      {.process = process, .kind = TrackKind::Stream, .id = 7, .device_index = 7});
  const std::string nul("nul\0byte", 8);
  const std::string names[] = {"quote \" and back\\slash",
                               "line\nfeed",
                               nul,
                               "torn \xe2\x98",
                               "\xf0\x9f\x94\xa5",
                               std::string(1 << 20, 'x'),
                               ""};
  Nanos at = 1'790'857'026'000'000'123;
  for (const std::string& name : names) {
    SpanRow row;
    row.name = builder.intern(name);
    row.track = thread;
    row.start_ns = at;
    row.duration_ns = 1500;  // overlaps the next in part
    builder.spans().push_back(row);
    row.track = stream;
    row.kind = SpanKind::Kernel;
    row.correlation = 5;
    builder.spans().push_back(row);
    InstantRow mark;
    mark.time_ns = at + 1;
    mark.track = thread;
    mark.name = row.name;
    builder.instants().push_back(mark);
    at += 1000;
  }
  SpanRow step;
  step.kind = SpanKind::Step;
  step.step = 3;
  step.name = builder.intern("ProfilerStep#3");
  step.track = thread;
  step.start_ns = at + 1000;
  step.duration_ns = 10'000;
  builder.spans().push_back(step);
  SpanRow async = step;
  async.kind = SpanKind::Async;
  async.flags = SpanFlags::kAsync | SpanFlags::kUnfinished;
  async.name = builder.intern("request");
  async.start_ns += 5000;
  async.step = -1;
  builder.spans().push_back(async);
  for (const double value : {1.5, 1e300, -0.0, 3.0}) {
    CounterRow row;
    row.track = thread;
    row.time_ns = at;
    row.name = builder.intern("loss");
    row.value = value;
    builder.counters().push_back(row);
    at += 7;
  }
  builder.windows().push_back({.process = process, .start_ns = at - 100, .end_ns = at});
  builder.add_ledger(LedgerKind::DroppedByBudget, 3, "thread \"main\"");
  return *std::move(builder).build();
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

Result<void> export_as_named(const Trace& trace, const std::string& path) {
  return ends_with(path, ".pftrace") ? export_perfetto(trace, path)
                                     : export_chrome_trace(trace, path);
}

int run(const std::string& from, const std::string& to) {
  Result<Trace> trace = from == "--awkward" ? Result<Trace>(awkward_trace()) : open_trace(from);
  if (!trace) {
    std::fprintf(stderr, "%s\n", trace.error().message.c_str());
    return 1;
  }
  if (auto done = export_as_named(*trace, to); !done) {
    std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "export_tool IN|--awkward OUT\n");
    return 2;
  }
  return run(argv[1], argv[2]);
}
