// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What recording costs, as ratios to the clock within one run; docs/overhead.md explains the rows.
//
//   build/release/bin/bench_overhead [folder for the files, default .]

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "bench/measure.h"
#include "collect/session.h"
#include "sonde/record.h"
#include "sonde/trace.h"

namespace sonde::bench {
namespace {

constexpr int kBatches = 2000;
constexpr int kIterations = 1000;

std::string folder = ".";

std::unique_ptr<Session> open_session(BufferPolicy policy, std::uint64_t budget,
                                      const std::string& name = "") {
  SessionOptions options;
  options.output = name.empty() ? "" : folder + "/" + name;
  options.policy = policy;
  options.budget_bytes = budget;
  auto session = Session::open(options);
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().message.c_str());
    std::exit(1);
  }
  return *std::move(session);
}

void begin(Session& session) {
  if (auto begun = session.begin_window(0); !begun) std::exit(1);
}

void row(const char* what, const Timing& t, double anchor) {
  std::printf("%-52s %8.2f %8.2f %8.2f", what, t.min, t.median, t.mean);
  if (anchor > 0) std::printf("   x %.3f", t.median / anchor);
  std::printf("\n");
}

std::uint64_t read_two_clocks() {
  const std::uint64_t first = detail::fast_word_ticks();
  barrier();
  return first + detail::fast_word_ticks();
}

Timing time_scopes() {
  return time_loop(kBatches, kIterations, [] {
    SONDE_SCOPE("bench");
    barrier();
  });
}

// The medians of two threads that ran at the same time; the larger of the two.
Timing time_scopes_on_two_threads() {
  std::atomic<int> running{0};
  Timing results[2];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i) {
    threads[i] = std::thread([&, i] {
      ++running;
      while (running.load() < 2) {
      }
      results[i] = time_scopes();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results[0].median > results[1].median ? results[0] : results[1];
}

void measure_small_costs(double& two_clocks) {
  std::printf("%-52s %8s %8s %8s\n", "nanoseconds", "min", "median", "mean");
  row("empty loop", time_loop(kBatches, kIterations, [] { barrier(); }), 0);
  volatile std::uint64_t sink = 0;
  const Timing one = time_loop(kBatches, kIterations, [&] { sink = detail::fast_word_ticks(); });
  const Timing two = time_loop(kBatches, kIterations, [&] { sink = read_two_clocks(); });
  two_clocks = two.median;
  row("one clock read", one, 0);
  row("two clock reads (the anchor)", two, two.median);
  row("scope, idle", time_scopes(), 0);

  const auto session = open_session(BufferPolicy::Ring, 1u << 20);
  begin(*session);
  time_scopes();  // uses every chunk once
  row("scope, recording, warm", time_scopes(), two.median);
  static sonde_site site = SONDE_SITE("c api");
  row("scope, recording, warm, through the C API",
      time_loop(kBatches, kIterations,
                [] {
                  const int begun = sonde_begin(&site);
                  barrier();
                  if (begun != 0) sonde_end();
                }),
      two.median);
  row("scope, recording, two threads", time_scopes_on_two_threads(), two.median);
  row("record_function, name seen before",
      time_loop(kBatches, 100,
                [] {
                  const record_function range("a name made at run time");
                  barrier();
                }),
      two.median);
  Laps laps;
  row("lap, recording (x is to one clock read)",
      time_loop(kBatches, kIterations,
                [&] {
                  SONDE_LAP(laps, "lap");
                  barrier();
                }),
      one.median);
  laps.end();
  session->end_window();
  if (auto closed = session->close(); !closed) std::exit(1);
}

void record_scopes(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    SONDE_SCOPE("kept");
    barrier();
  }
}

// Records `count` scopes while nothing is drained; prints the mean, then stop and file.
void measure_kept(std::uint64_t count, double two_clocks, BufferPolicy policy, const char* how) {
  const std::string name = "bench_kept.sonde";
  const auto session = open_session(policy, std::uint64_t{256} << 20, name);
  std::this_thread::sleep_for(
      std::chrono::milliseconds(50));  // like a program that does not start at once
  reset_peak_rss();
  begin(*session);
  const long faults_before = thread_faults();
  const double before = now_ns();
  record_scopes(count);
  const double recorded = now_ns();
  const long faults = thread_faults() - faults_before;
  session->end_window();
  const double stopped = now_ns();
  const std::uint64_t peak = status_bytes("VmHWM");
  if (auto closed = session->close(); !closed)
    std::printf("  %s\n", closed.error().message.c_str());
  const double closed_at = now_ns();
  const auto bytes = static_cast<double>(std::filesystem::file_size(folder + "/" + name));
  const double mean = (recorded - before) / static_cast<double>(count);
  std::printf(
      "%9llu scopes, %-6s mean %6.2f ns x %.3f, stop %7.3f ms, file whole after %7.1f ms, %5.2f "
      "bytes a scope on disk, peak RSS %4.0f MiB, %ld page faults\n",
      static_cast<unsigned long long>(count), how, mean, mean / two_clocks,
      (stopped - recorded) / 1e6, (closed_at - stopped) / 1e6, bytes / static_cast<double>(count),
      static_cast<double>(peak) / 1048576.0, faults);
}

// Work of random length, up to some 400 ns, because real programs do not run in a fixed rhythm.
void random_work(std::uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  for (std::uint32_t i = state >> 23; i > 0; --i) barrier();
}

// Nested scopes of eight sites with work of random length in each; prints what one takes on disk.
void measure_disk(bool compress) {
  constexpr std::uint64_t kRounds = 200'000;
  SessionOptions options;
  options.output = folder + "/bench_disk.sonde";
  options.compress = compress;
  auto session = Session::open(options);
  if (!session) std::exit(1);
  begin(**session);
  std::uint32_t state = 1;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    SONDE_SCOPE("step");
    random_work(state);
    {
      SONDE_SCOPE("forward");
      for (int layer = 0; layer < 2; ++layer) {
        SONDE_SCOPE("layer");
        random_work(state);
        {
          SONDE_SCOPE("matmul");
          random_work(state);
        }
        {
          SONDE_SCOPE("activation");
          random_work(state);
        }
      }
    }
    {
      SONDE_SCOPE("backward");
      random_work(state);
    }
    {
      SONDE_SCOPE("update");
      random_work(state);
    }
  }
  constexpr double kScopes = kRounds * 10.0;
  (*session)->end_window();
  if (auto closed = (*session)->close(); !closed) std::exit(1);
  const auto bytes = static_cast<double>(std::filesystem::file_size(options.output));
  std::printf("bytes a scope on disk, work of random length, %s: %.2f\n",
              compress ? "compressed" : "not compressed", bytes / kScopes);
  std::filesystem::remove(options.output);
}

void measure_open(const std::string& path) {
  reset_peak_rss();
  const std::uint64_t rss_before = status_bytes("VmRSS");
  const double cpu_before = process_cpu_ns();
  const double before = now_ns();
  const auto trace = open_sonde(path);
  const double after = now_ns();
  if (!trace) {
    std::printf("%s\n", trace.error().message.c_str());
    return;
  }
  const auto spans = static_cast<double>(trace->spans().size());
  std::uint64_t dropped = 0;
  for (std::size_t i = 0; i < trace->ledger().size(); ++i) {
    if (trace->ledger().kind[i] == LedgerKind::DroppedByBudget) dropped += trace->ledger().count[i];
  }
  std::printf(
      "open: %.0f spans (%llu dropped) in %.3f s, %.3f core-seconds; %.1f bytes a span resident, "
      "%.1f at the peak\n",
      spans, static_cast<unsigned long long>(dropped), (after - before) / 1e9,
      (process_cpu_ns() - cpu_before) / 1e9,
      static_cast<double>(status_bytes("VmRSS") - rss_before) / spans,
      static_cast<double>(status_bytes("VmHWM") - rss_before) / spans);
}

}  // namespace
}  // namespace sonde::bench

int main(int argc, char** argv) {
  using namespace sonde::bench;  // NOLINT(google-build-using-namespace)
  sonde::bench::explain_if_asked(argc, argv, "bench_overhead [FOLDER for traces, default .]");
  if (argc > 1) folder = argv[1];
  double two_clocks = 0;
  measure_small_costs(two_clocks);
  std::printf("\nbytes a scope in memory: %zu\n", 2 * sizeof(std::uint64_t));
  measure_disk(false);
  measure_disk(true);
  std::printf("\n");
  for (const std::uint64_t count : {std::uint64_t{1'000'000}, std::uint64_t{10'000'000}}) {
    measure_kept(count, two_clocks, sonde::BufferPolicy::Ring, "ring");
    measure_open(folder + "/bench_kept.sonde");
    measure_kept(count, two_clocks, sonde::BufferPolicy::Spill, "spill");
    measure_open(folder + "/bench_kept.sonde");
  }
  std::filesystem::remove(folder + "/bench_kept.sonde");
  return 0;
}
