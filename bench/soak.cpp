// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads record at full speed for a long time. Prints every few seconds how much memory they
// take.
//
//   build/release/bin/bench_soak [seconds, default 600] [folder, default .] [spill|drop|ring]

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "bench/measure.h"
#include "collect/session.h"
#include "sonde/record.h"

int main(int argc, char** argv) {
  using namespace sonde;  // NOLINT(google-build-using-namespace)
  sonde::bench::explain_if_asked(
      argc, argv, "bench_soak [SECONDS, default 600 [FOLDER, default . [spill|drop|ring]]]");
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 600;
  const std::string folder = argc > 2 ? argv[2] : ".";
  const char* policy = argc > 3 ? argv[3] : "spill";
  SessionOptions options;
  options.output = folder + "/bench_soak.sonde";
  options.policy = std::strcmp(policy, "ring") == 0   ? BufferPolicy::Ring
                   : std::strcmp(policy, "drop") == 0 ? BufferPolicy::Drop
                                                      : BufferPolicy::Spill;
  auto session = Session::open(options);
  if (!session || !(*session)->begin_window(0)) return 1;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> scopes{0};
  std::thread workers[2];
  for (std::thread& worker : workers) {
    worker = std::thread([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        for (int i = 0; i < 10'000; ++i) {
          SONDE_SCOPE("soak");
          bench::barrier();
        }
        scopes.fetch_add(10'000, std::memory_order_relaxed);
      }
    });
  }
  std::printf("%8s %12s %12s %14s %12s\n", "seconds", "RSS MiB", "peak MiB", "scopes, M",
              "file MiB");
  std::uint64_t worst = 0;
  const int step = seconds >= 60 ? seconds / 20 : 1;
  for (int t = 0; t < seconds; t += step) {
    std::this_thread::sleep_for(std::chrono::seconds(step));
    const std::uint64_t peak = bench::status_bytes("VmHWM");
    worst = peak > worst ? peak : worst;
    std::printf("%8d %12.1f %12.1f %14.1f %12.1f\n", t + step,
                static_cast<double>(bench::status_bytes("VmRSS")) / 1048576.0,
                static_cast<double>(peak) / 1048576.0, static_cast<double>(scopes.load()) / 1e6,
                static_cast<double>(std::filesystem::file_size(options.output)) / 1048576.0);
    std::fflush(stdout);
  }
  stop = true;
  for (std::thread& worker : workers) worker.join();
  (*session)->end_window();
  const auto closed = (*session)->close();
  std::printf("peak %.1f MiB against a budget of %.0f MiB: %+.1f MiB\n",
              static_cast<double>(worst) / 1048576.0,
              static_cast<double>(options.budget_bytes) / 1048576.0,
              (static_cast<double>(worst) - static_cast<double>(options.budget_bytes)) / 1048576.0);
  std::filesystem::remove(options.output);
  return closed ? 0 : 1;
}
