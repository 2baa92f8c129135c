// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the analysis of a job costs once its summaries are there, by the number of ranks; one rank
// is always late, and clocks differ.
//
//   build/release/bin/bench_job 1024 5000
//
// The figures are CPU time of this process, and its largest memory.

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "analyse/job/testing/made_job.h"
#include "bench/measure.h"

namespace sonde::bench {
namespace {

void measure(std::int32_t ranks, std::int32_t calls) {
  testing::MadeJobOptions options;
  options.ranks = ranks;
  options.ranks_per_host = 8;
  options.calls_per_step = 50;
  options.steps = calls / options.calls_per_step;
  testing::MadeJob made(options);
  made.delay(ranks / 3, 20e6, "load_batch");
  std::vector<RankSummary> summaries = made.summaries();
  const double start = process_cpu_ns();
  const Result<JobReport> job = analyse_job(std::move(summaries));
  const double took = process_cpu_ns() - start;
  double worst = 0;
  for (const JobClock& clock : job->clocks)
    worst = std::max(
        worst, std::abs(made.true_offset_ns(clock.rank) - static_cast<double>(clock.offset_ns)));
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  std::printf("%8d %8d %10.2f %10.2f %12.2f   %s\n", ranks, calls, took / 1e9,
              static_cast<double>(use.ru_maxrss) / 1e6, worst / 1e3,
              job->verdict && job->verdict->rank == ranks / 3 ? "right" : "WRONG");
  std::fflush(stdout);
}

}  // namespace
}  // namespace sonde::bench

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 256;
  const int calls = argc > 2 ? std::atoi(argv[2]) : 1000;
  if (ranks < 8 || ranks % 8 != 0 || calls < 50) {
    std::fprintf(stderr, "usage: bench_job RANKS CALLS; RANKS in eights, CALLS at least 50\n");
    return 2;
  }
  std::printf("%8s %8s %10s %10s %12s   %s\n", "ranks", "calls", "CPU s", "GB", "clocks, us",
              "culprit");
  for (const int part : {ranks / 4 / 8 * 8, ranks / 2 / 8 * 8, ranks})
    if (part >= 8) sonde::bench::measure(part, calls);
  return 0;
}
