// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sonde/profiler.h>
#include <sonde/record.h>
#include <sonde/trace.h>
#include <sonde/version.h>

#include <cstdio>

static int fail(const sonde::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

int main(int, char** argv) {
  sonde::ProfilerOptions options;
  options.output = argv[1];
  sonde::Profiler profiler(options);
  profiler.start();
  {
    SONDE_SCOPE("work");
  }
  profiler.stop();
  if (const auto closed = profiler.close(); !closed) return fail(closed.error());

  const auto trace = sonde::open_sonde(argv[1]);
  if (!trace) return fail(trace.error());
  std::printf("Sonde %s recorded %zu span(s)\n", SONDE_VERSION, trace->spans().size());
  return trace->spans().size() == 1 && trace->name(sonde::SpanId(0)) == "work" ? 0 : 1;
}
