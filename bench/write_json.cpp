// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast a trace is written as JSON: only rendered, to a file, and compressed, on one core and on
// two, compared with the machine's limits. The trace is a real one, repeated.
//
//   bench_write_json [TRACE [FOLDER]]    FOLDER: where files are written, /dev/shm if there is one

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure.h"
#include "bench/repeat.h"
#include "convert/kineto/write/event_writer.h"
#include "convert/kineto/write/plan.h"
#include "sonde/export.h"
#include "sonde/open.h"

namespace {

using namespace sonde;  // NOLINT(google-build-using-namespace)
using bench::now_ns;

double seconds_of(const std::function<void()>& work) {
  const double before = now_ns();
  work();
  return (now_ns() - before) / 1e9;
}

// Renders all events into a buffer that is reused; returns how many bytes.
std::size_t render(const Trace& trace) {
  const KinetoPlan plan(trace);
  KinetoEvents events(plan);
  std::size_t bytes = 0;
  for (const EventBlock& block : plan.blocks()) {
    events.render(block, [&bytes](std::string_view text) {
      bytes += text.size();
      return true;
    });
  }
  return bytes;
}

std::size_t count_events(const Trace& trace) {
  std::size_t flow_ends = 0;
  for (std::size_t i = 0; i < trace.flows().size(); ++i) {
    flow_ends += trace.flows().from_span[i].valid() ? 1 : 0;
    flow_ends += trace.flows().to_span[i].valid() ? 1 : 0;
  }
  return trace.spans().size() + trace.allocations().size() + trace.instants().size() +
         trace.counters().size() + flow_ends;
}

void print_row(const char* what, std::size_t bytes, std::size_t events, double seconds) {
  std::printf("  %-42s %8.0f MB/s", what, static_cast<double>(bytes) / seconds / 1e6);
  if (events > 0) {
    std::printf(" %10.2f M events/s", static_cast<double>(events) / seconds / 1e6);
  }
  std::printf("   %.3f s\n", seconds);
}

// The limits of any writer: moving the bytes, and formatting the numbers.
void measure_bounds() {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  std::vector<char> from(kBytes, 'x');
  std::vector<char> to(kBytes);
  const double copying = seconds_of([&] {
    for (int i = 0; i < 256; ++i) {
      from[static_cast<std::size_t>(i)] = 'y';
      std::memcpy(to.data(), from.data(), kBytes);
      __asm__ volatile("" : : "r"(to.data()) : "memory");
    }
  });
  print_row("memcpy, 4 MiB pieces", 256 * kBytes, 0, copying);
  std::size_t printed = 0;
  const double printing = seconds_of([&] {
    std::uint64_t value = 3848419624188359;
    for (int i = 0; i < 20'000'000; ++i) {
      char* at = to.data() + printed % (kBytes - 32);
      printed += static_cast<std::size_t>(std::to_chars(at, at + 32, value).ptr - at);
      value += 77777;
    }
  });
  print_row("std::to_chars alone, 16 digits", printed, 20'000'000, printing);
}

double best_of(int rounds, const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) best = std::min(best, seconds_of(work));
  return best;
}

// Prints the file's size relative to the JSON, and removes the file.
void print_size(const std::string& path, std::size_t json_bytes) {
  const auto bytes = static_cast<double>(std::filesystem::file_size(path));
  if (bytes < static_cast<double>(json_bytes)) {
    std::printf("  %-42s %8.2f times smaller\n", "", static_cast<double>(json_bytes) / bytes);
  }
  std::filesystem::remove(path);
}

void measure_perfetto(const Trace& trace, const std::string& folder, std::size_t bytes,
                      std::size_t events) {
  const std::string path = folder + "/t.pftrace";
  Result<void> done;
  const double seconds = seconds_of([&] { done = export_perfetto(trace, path); });
  if (!done) return void(std::printf("%s\n", done.error().message.c_str()));
  print_row("t.pftrace, counted as the JSON it stands for", bytes, events, seconds);
  print_size(path, bytes);
}

void measure_export(const Trace& trace, const std::string& folder, const char* name,
                    unsigned threads, std::size_t bytes, std::size_t events, int rounds) {
  const std::string path = folder + "/" + name;
  double seconds = 1e9;
  for (int i = 0; i < rounds; ++i) {
    std::filesystem::remove(path);  // so that the file system never holds two
    seconds = std::min(seconds, seconds_of([&] {
                         const auto done = export_chrome_trace(trace, path, {.threads = threads});
                         if (!done) std::printf("%s\n", done.error().message.c_str());
                       }));
  }
  const std::string what = std::string(name) + " on " + std::to_string(threads) +
                           (threads == 1 ? " thread" : " threads");
  print_row(what.c_str(), bytes, events, seconds);
  print_size(path, bytes);
}

void measure(const Trace& source, std::size_t million_events, const std::string& folder) {
  const std::size_t once = count_events(source);
  const std::size_t times = std::max<std::size_t>(1, million_events * 1'000'000 / once);
  const Trace trace = bench::repeat(source, times);
  const std::size_t events = count_events(trace);
  const int rounds = million_events > 1 ? 3 : 5;
  std::size_t bytes = 0;
  const std::uint64_t before = bench::status_bytes("VmRSS");
  bench::reset_peak_rss();
  const double plan = best_of(rounds, [&] { const KinetoPlan plan_only(trace); });
  const double rendering = best_of(rounds, [&] { bytes = render(trace); });
  std::printf("%.1f million events, %.0f MB of JSON\n", static_cast<double>(events) / 1e6,
              static_cast<double>(bytes) / 1e6);
  print_row("rendered, one thread", bytes, events, rendering);
  std::printf("  %-42s %8.3f s\n", "  of which before the first event", plan);
  measure_export(trace, folder, "t.json", 1, bytes, events, rounds);
  measure_export(trace, folder, "t.json", 2, bytes, events, rounds);
  measure_export(trace, folder, "t.json.gz", 1, bytes, events, rounds);
  measure_export(trace, folder, "t.json.gz", 2, bytes, events, rounds);
  measure_perfetto(trace, folder, bytes, events);
  std::printf("  %-42s %8.0f MiB\n", "memory above the trace's own, at most",
              static_cast<double>(bench::status_bytes("VmHWM") - before) / 1048576);
}

}  // namespace

int main(int argc, char** argv) {
  sonde::bench::explain_if_asked(argc, argv, "bench_write_json [TRACE [FOLDER, default /dev/shm]]");
  const std::string path = argc > 1 ? argv[1] : SONDE_REAL_TRACE;
  const bool has_memory_folder = std::filesystem::is_directory("/dev/shm");
  const std::string folder = argc > 2 ? argv[2] : has_memory_folder ? "/dev/shm" : "/tmp";
  const Result<Trace> trace = open_trace(path);
  if (!trace) {
    std::fprintf(stderr, "%s\n", trace.error().message.c_str());
    return 1;
  }
  measure_bounds();
  for (const std::size_t millions : {1, 10}) measure(*trace, millions, folder);
}
