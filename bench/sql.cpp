// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How long queries take over a trace of ten million spans, in CPU seconds of one thread.
//
//   bench_sql [SPANS] [packed]
//
// The columns of a trace that was read from a recording are packed, those of one that was read from
// JSON are not.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>

#include "sonde/sql.h"
#include "sonde/trace/builder.h"

namespace {

using namespace sonde;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::uint64_t next_random() {
  static std::uint64_t state = 88172645463325252U;
  state ^= state << 13U;
  state ^= state >> 7U;
  return state ^= state << 17U;
}

// Operators, calls and kernels in turn; 600 names, a few of them frequent.
Trace synthetic(std::size_t spans, bool packed) {
  TraceBuilder builder;
  if (packed) {
    SpanTable& columns = builder.spans();
    columns.start_ns.pack();
    columns.duration_ns.pack();
    columns.name.pack();
    columns.track.pack();
    columns.kind.pack();
    columns.correlation.pack();
  }
  const ProcessId process = builder.processes().push_back({.pid = 1});
  const TrackId host = builder.tracks().push_back({.process = process, .id = 1});
  const TrackId stream = builder.tracks().push_back(
      {.process = process, .kind = TrackKind::Stream, .id = 7, .device_index = 0});
  std::vector<StringId> names;
  for (int i = 0; i < 600; ++i)
    names.push_back(
        builder.intern((i < 300 ? "aten::operator_"
                                : "void at::native::vectorized_elementwise_kernel<4, functor_") +
                       std::to_string(i)));
  Nanos time = 1'700'000'000'000'000'000;
  constexpr SpanKind kKinds[] = {SpanKind::CpuOp, SpanKind::CudaRuntime, SpanKind::Kernel};
  for (std::size_t i = 0; i < spans; ++i) {
    const std::size_t kind = i % 3;
    const std::uint64_t frequent = next_random() % 300 * (next_random() % 300) / 300;
    time += static_cast<Nanos>(next_random() % 2000) + 1;
    builder.spans().push_back(
        {.start_ns = time,
         .duration_ns = static_cast<Nanos>(next_random() % 1000),
         .name = names[frequent + (kind == 2 ? 300 : 0)],
         .track = kind == 2 ? stream : host,
         .kind = kKinds[kind],
         .correlation = kind == 0 ? 0 : static_cast<std::int64_t>(i / 3 + 1)});
  }
  return std::move(*std::move(builder).build());
}

void time_query(const SqlDatabase& database, const char* what, const std::string& text) {
  const double begin = cpu_seconds();
  Result<SqlQuery> query = database.query(text);
  std::size_t rows = 0;
  while (query && query->next().value_or(false)) ++rows;
  std::printf("%-44s %8.4f s  %zu rows\n", what, cpu_seconds() - begin, rows);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t spans = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10'000'000;
  const Trace trace = synthetic(spans, argc > 2);
  const Nanos middle = trace.first_ns() + (trace.last_ns() - trace.first_ns()) / 2;
  const std::string from = std::to_string(middle);
  const std::string to = std::to_string(middle + (trace.last_ns() - trace.first_ns()) / 100);
  std::vector<NamedTrace> traces;
  traces.push_back({"synthetic", trace});
  const SqlDatabase database = std::move(*SqlDatabase::over(std::move(traces)));
  std::printf("%zu spans\n", spans);
  for (const auto& [what, text] : std::initializer_list<std::pair<const char*, std::string>>{
           {"count, sum(duration_ns)", "SELECT count(*), sum(duration_ns) FROM spans"},
           {"name = x", "SELECT count(*) FROM spans WHERE name = 'aten::operator_7'"},
           {"id = x", "SELECT name FROM spans WHERE id = 1234"},
           {"1 % of the time",
            "SELECT count(*) FROM spans WHERE start_ns BETWEEN " + from + " AND " + to},
           {"kind = x", "SELECT count(*) FROM spans WHERE kind = 'kernel'"},
           {"name LIKE",
            "SELECT count(*), sum(duration_ns) FROM spans WHERE name LIKE '%elementwise%'"},
           {"the ten longest", "SELECT name FROM spans ORDER BY duration_ns DESC LIMIT 10"},
           {"operators by total time",
            "SELECT name, total_ns FROM operators ORDER BY total_ns DESC LIMIT 10"},
           {"operators with self time",
            "SELECT name, self_ns FROM operators ORDER BY self_ns DESC LIMIT 10"},
           {"GROUP BY name",
            "SELECT name, count(*), sum(duration_ns) FROM spans GROUP BY name ORDER BY 3 DESC"},
           {"GROUP BY kind", "SELECT kind, count(*), sum(duration_ns) FROM spans GROUP BY kind"},
           {"join on correlation",
            "SELECT count(*), avg(k.start_ns - l.end_ns) FROM spans l JOIN spans k ON "
            "l.correlation = "
            "k.correlation WHERE l.kind = 'cuda_runtime' AND k.kind = 'kernel'"},
           {"gaps on a track, by a window function",
            "SELECT sum(gap) FROM (SELECT start_ns - lag(end_ns) OVER (PARTITION BY track ORDER BY "
            "start_ns) AS gap FROM spans WHERE kind = 'kernel') WHERE gap > 0"}})
    time_query(database, what, text);
  return 0;
}
