// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A long LibTorch program, recorded with shapes and memory: does it stay within its budget, how
// fast does it stop, and what was lost?
//
//   build/release/bin/bench_torch_long [operators, default 10000000] [folder, default .]

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "bench/measure.h"
#include "sonde/profiler.h"
#include "sonde/torch.h"

namespace sonde::bench {
namespace {

constexpr double kMiB = 1 << 20;

void run_ops(std::int64_t count) {
  const at::Tensor a = at::ones({4, 4});
  const at::Tensor b = at::ones({4, 4});
  for (std::int64_t i = 0; i < count; ++i) at::add(a, b);
}

double peak_mib() {
  return static_cast<double>(status_bytes("VmHWM")) / kMiB;
}

// Peak resident memory without recording, after a part of the same work.
double peak_alone_mib(std::int64_t count) {
  run_ops(count / 20);
  reset_peak_rss();
  run_ops(count / 20);
  return peak_mib();
}

int print_losses(const std::string& path) {
  const Result<Trace> trace = open_sonde(path);
  if (!trace) return std::printf("%s\n", trace.error().message.c_str()), 1;
  std::printf("%zu spans, %zu allocations\n", trace->spans().size(), trace->allocations().size());
  for (std::size_t i = 0; i < trace->ledger().size(); ++i) {
    const std::string kind(to_string(trace->ledger().kind[i]));
    std::printf("  %-20s %lld\n", kind.c_str(), static_cast<long long>(trace->ledger().count[i]));
  }
  return 0;
}

int run(std::int64_t count, const std::string& folder) {
  sonde::torch::attach();
  ProfilerOptions options;
  options.output = folder + "/bench_torch_long.sonde";
  options.record.record_shapes = true;
  options.record.profile_memory = true;
  const double alone = peak_alone_mib(count);
  Profiler prof(options);
  prof.start();
  reset_peak_rss();
  const double before = now_ns();
  run_ops(count);
  const double ran = now_ns();
  prof.stop();
  const double stopped = now_ns();
  const Result<void> closed = prof.close();
  const double peak = peak_mib();
  if (!closed) return std::printf("%s\n", closed.error().message.c_str()), 1;
  std::printf("%lld operators in %.1f s, stop %.3f ms, file whole after %.1f ms, %.1f MiB\n",
              static_cast<long long>(count), (ran - before) / 1e9, (stopped - ran) / 1e6,
              (now_ns() - stopped) / 1e6,
              static_cast<double>(std::filesystem::file_size(options.output)) / kMiB);
  std::printf("peak %.1f MiB, %.1f MiB above a run that is not recorded; the budget is %.0f MiB\n",
              peak, peak - alone, static_cast<double>(options.budget_bytes) / kMiB);
  const int status = print_losses(options.output);
  std::filesystem::remove(options.output);
  return status;
}

}  // namespace
}  // namespace sonde::bench

int main(int argc, char** argv) {
  sonde::bench::explain_if_asked(
      argc, argv, "bench_torch_long [OPERATORS, default 10000000 [FOLDER, default .]]");
  at::set_num_threads(1);
  return sonde::bench::run(argc > 1 ? std::atoll(argv[1]) : 10'000'000, argc > 2 ? argv[2] : ".");
}
