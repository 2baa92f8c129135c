// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How long a report and its page take from an open trace, on one thread, by the clock and in CPU
// time.
//
//   build/release/bin/bench_report tests/data/torch-2.11-h200/transformer.pt.trace.json.gz
//
// The trace is repeated until it has 1 and 10 million events: spans and allocations.

#include <cstdio>
#include <string>

#include "bench/measure.h"
#include "bench/repeat.h"
#include "sonde/analyse/report.h"
#include "sonde/open.h"
#include "sonde/view/trace_page.h"

namespace sonde::bench {
namespace {

std::size_t events(const Trace& trace) {
  return trace.spans().size() + trace.allocations().size();
}

void measure(const Trace& small, std::size_t wanted) {
  const Trace trace = repeat(small, wanted / events(small) + 1);
  double best_report = 0;
  double best_cpu = 0;
  double best_page = 0;
  std::size_t findings = 0;
  std::size_t page_bytes = 0;
  for (int run = 0; run < 3; ++run) {
    const double start_cpu = process_cpu_ns();
    const double start = now_ns();
    const Report found = report(trace);
    const double have_report = now_ns();
    const double cpu = process_cpu_ns() - start_cpu;
    const std::string page = trace_page(trace, "trace").value_or("");
    const double have_page = now_ns();
    if (run == 0 || have_report - start < best_report) best_report = have_report - start;
    if (run == 0 || cpu < best_cpu) best_cpu = cpu;
    if (run == 0 || have_page - have_report < best_page) best_page = have_page - have_report;
    findings = found.findings.size();
    page_bytes = page.size();
  }
  std::printf("%12zu %12zu %12zu %9zu %10.1f %8.1f %8.1f %9.2f\n", events(trace),
              trace.spans().size(), trace.allocations().size(), findings, best_report / 1e6,
              best_cpu / 1e6, best_page / 1e6, static_cast<double>(page_bytes) / 1e6);
  std::fflush(stdout);
}

int run(const std::string& path) {
  const Result<Trace> small = open_trace(path);
  if (!small || small->spans().empty()) {
    std::fprintf(stderr, "bench_report: %s\n",
                 small ? "the trace is empty" : small.error().message.c_str());
    return 1;
  }
  std::printf("%12s %12s %12s %9s %10s %8s %8s %9s\n", "events", "spans", "allocations", "findings",
              "report ms", "cpu ms", "page ms", "page MB");
  measure(*small, 1'000'000);
  measure(*small, 10'000'000);
  return 0;
}

}  // namespace
}  // namespace sonde::bench

int main(int argc, char** argv) {
  sonde::bench::explain_if_asked(argc, argv, "bench_report TRACE");
  if (argc != 2) {
    std::fprintf(stderr,
                 "bench_report: name a trace, such as "
                 "tests/data/torch-2.11-h200/transformer.pt.trace.json.gz\n");
    return 2;
  }
  return sonde::bench::run(argv[1]);
}
