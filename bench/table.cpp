// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How long PyTorch's operator table takes from an open trace.
//
//   build/release/bin/bench_table tests/data/torch-2.11-h200/transformer.pt.trace.json.gz
//
// The trace is repeated until it has 600,000 operators, then 1 and 10 million spans; events, rows
// and table are made on one thread.

#include <cstdio>
#include <string>

#include "bench/measure.h"
#include "bench/repeat.h"
#include "sonde/analyse/events.h"
#include "sonde/open.h"

namespace sonde::bench {
namespace {

std::size_t operators(const Trace& trace) {
  std::size_t count = 0;
  for (const SpanId span : trace.all_spans()) {
    count += trace.spans().kind[span] == SpanKind::CpuOp ? 1 : 0;
  }
  return count;
}

void measure(const Trace& small, std::size_t times) {
  const Trace trace = repeat(small, times);
  double best_events = 0;
  double best_rows = 0;
  double best_table = 0;
  double best_by_shape = 0;
  std::size_t events_count = 0;
  std::size_t rows_count = 0;
  for (int run = 0; run < 3; ++run) {
    const double start = now_ns();
    const EventList events = function_events(trace);
    const double have_events = now_ns();
    const KeyAverages rows = events.key_averages();
    const double have_rows = now_ns();
    const std::string text = *rows.table({.sort_by = "self_cpu_time_total"});
    const double have_table = now_ns();
    const KeyAverages by_shape = events.key_averages({.group_by_input_shape = true});
    const double have_shapes = now_ns();
    const auto keep = [run](double& best, double value) {
      if (run == 0 || value < best) best = value;
    };
    keep(best_events, have_events - start);
    keep(best_rows, have_rows - have_events);
    keep(best_table, have_table - have_rows);
    keep(best_by_shape, have_shapes - have_table);
    events_count = events.size();
    rows_count = rows.size();
  }
  std::printf("%10zu %10zu %10zu %6zu %9.1f %9.1f %9.1f %9.1f %9.1f\n", trace.spans().size(),
              operators(trace), events_count, rows_count, best_events / 1e6, best_rows / 1e6,
              best_table / 1e6, (best_events + best_rows + best_table) / 1e6, best_by_shape / 1e6);
}

int run(const std::string& path) {
  const Result<Trace> small = open_trace(path);
  if (!small) {
    std::fprintf(stderr, "bench_table: %s\n", small.error().message.c_str());
    return 1;
  }
  const std::size_t ops = operators(*small);
  if (ops == 0) {
    std::fprintf(stderr, "bench_table: %s has no operators\n", path.c_str());
    return 1;
  }
  std::printf("%10s %10s %10s %6s %9s %9s %9s %9s %9s\n", "spans", "operators", "events", "rows",
              "events ms", "rows ms", "table ms", "all ms", "shapes ms");
  measure(*small, (600'000 + ops - 1) / ops);
  measure(*small, 1'000'000 / small->spans().size() + 1);
  measure(*small, 10'000'000 / small->spans().size() + 1);
  return 0;
}

}  // namespace
}  // namespace sonde::bench

int main(int argc, char** argv) {
  sonde::bench::explain_if_asked(argc, argv, "bench_table TRACE");
  if (argc != 2) {
    std::fprintf(stderr,
                 "bench_table: name a trace, such as "
                 "tests/data/torch-2.11-h200/transformer.pt.trace.json.gz\n");
    return 2;
  }
  return sonde::bench::run(argv[1]);
}
