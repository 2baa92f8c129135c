// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the time and the memory of opening a recording go: what each stage has cost until its end,
// and how many bytes each column takes.
//
//   build/release/bin/bench_open FOLDER 10000000           makes a recording
//   build/release/bin/bench_open_stages table FOLDER/operators_10000000.sonde
//
// The first argument says for what the recording is opened: table (by name), shapes (the table
// grouped by them), memory, or all (decoded and nothing else). Times are CPU time of the process.

#include <sys/resource.h>

#include <cstdio>
#include <optional>
#include <string_view>

#include "bench/measure.h"
#include "decode/open_sonde.h"
#include "file/block_file.h"
#include "sonde/analyse/averages.h"
#include "sonde/analyse/events.h"
#include "sonde/analyse/memory.h"

namespace sonde::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

void print_stage(const char* stage) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%-10s %8.2f %8.2f %9.1f\n", stage, seconds(usage.ru_utime), seconds(usage.ru_stime),
              static_cast<double>(usage.ru_maxrss) * 1024 / 1e6);
}

template <typename Table>
void print_bytes(const char* name, const Table& table) {
  if (table.empty()) return;
  const auto rows = static_cast<double>(table.size());
  double all = 0;
  std::printf("%s:", name);
  table.visit_columns([&](const char* column, const auto& values) {
    const double bytes = static_cast<double>(values.memory_bytes()) / rows;
    all += bytes;
    if (bytes >= 0.05) std::printf(" %s %.1f", column, bytes);
  });
  std::printf("; %.1f bytes a row\n", all);
}

std::optional<ReadFor> purpose_of(std::string_view what) {
  if (what == "table") return ReadFor::TableByName;
  if (what == "shapes") return ReadFor::OperatorTable;
  if (what == "memory" || what == "all") return ReadFor::Everything;
  return std::nullopt;
}

int run(std::string_view what, ReadFor purpose, const char* path) {
  const Result<BlockFile> file = BlockFile::open(path);
  if (!file) return std::fprintf(stderr, "%s\n", file.error().message.c_str()), 1;
  BlockFile copy = *file;
  const Result<Trace> trace = read_trace_lazily(copy, nullptr, purpose);
  if (!trace) return std::fprintf(stderr, "%s\n", trace.error().message.c_str()), 1;
  std::printf("%-10s %8s %8s %9s\n", "", "user s", "kernel s", "peak MB");
  print_stage("opened");
  const std::size_t spans = trace->spans().size();
  print_stage("decoded");
  if (what == "memory") {
    const MemoryProfile profile = memory_profile(*trace);
    print_stage("blocks");
  } else if (what != "all") {
    const EventList events = function_events(*trace);
    print_stage("events");
    GroupBy by;
    by.group_by_input_shape = what == "shapes";
    const KeyAverages averages = events.key_averages(by);
    print_stage("table");
  }
  std::printf("%zu spans, %zu allocations\n", spans, trace->allocations().size());
  print_bytes("spans", trace->spans());
  print_bytes("allocations", trace->allocations());
  return 0;
}

}  // namespace
}  // namespace sonde::bench

int main(int argc, char** argv) {
  constexpr const char* kUsage = "bench_open_stages table|shapes|memory|all RECORDING";
  sonde::bench::explain_if_asked(argc, argv, kUsage);
  const auto purpose = sonde::bench::purpose_of(argc > 2 ? argv[1] : "");
  if (!purpose) {
    std::fprintf(stderr, "usage: %s\n", kUsage);
    return 2;
  }
  return sonde::bench::run(argv[1], *purpose, argv[2]);
}
