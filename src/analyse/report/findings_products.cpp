// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How fast matrix products run on the host. A library that is not made for the processor takes ten
// times as long as one that is, and nothing else in a trace shows it.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/operators/flops.h"
#include "analyse/report/findings.h"
#include "base/format.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

// Smaller products are not limited by their arithmetic.
constexpr std::uint64_t kLeastFlops = 1'000'000;
// A core does less only without its vector units: simple loops reach 1 to 6, optimised libraries 15
// (SSE) to 150 (AVX-512).
constexpr double kSlowFlopsPerNs = 8;
// What is left of the time with an optimised library; assumed.
constexpr double kLeft = 1.0 / 8;
constexpr double kLeastOfTime = 0.1;
// With fewer rows or columns, what limits a product is reading its matrices.
constexpr std::int64_t kLeastSize = 16;
// Of all calls, this many are slower than the rate that counts: on a busy machine any of them may
// have waited for a core, and the first ones load data and code.
constexpr double kQuantile = 0.9;

bool is_product(FlopsFormula formula) {
  return formula == FlopsFormula::Mm || formula == FlopsFormula::Addmm ||
         formula == FlopsFormula::Bmm || formula == FlopsFormula::Baddbmm;
}

// Of 32- or 64-bit floats: others may lack instructions.
bool is_of_floats(const Trace& trace, SpanId op) {
  for (const OpArgumentId argument : trace.arguments(op)) {
    const OpArgumentTable& table = trace.op_arguments();
    if (table.kind[argument] != ArgumentKind::Tensor || !table.dtype[argument].valid()) continue;
    const std::string_view type = trace.string(table.dtype[argument]);
    return type == "float" || type == "double";
  }
  return false;
}

// Whether both dimensions of each factor are large enough to reuse what was read. Factors are the
// last two arguments that are matrices; batches of them have a dimension more.
bool reuses_data(const Trace& trace, SpanId op) {
  const OpArgumentTable& table = trace.op_arguments();
  for (const OpArgumentId argument : trace.arguments(op)) {
    if (table.kind[argument] != ArgumentKind::Tensor || table.dims_count[argument] < 2) continue;
    const DimId first = table.dims_first[argument];
    for (std::int32_t i = 0; i < 2; ++i) {
      const auto at =
          first.value() + static_cast<std::uint32_t>(table.dims_count[argument] - 1 - i);
      if (trace.dims().value[DimId(at)] < kLeastSize) return false;
    }
  }
  return true;
}

}  // namespace

void find_in_products(const ReportData& data, Report& report) {
  const Trace& trace = report.trace;
  if (!report.devices.empty() || trace.op_arguments().empty()) return;
  std::vector<FlopsFormula> by_name(trace.strings().size());
  for (std::size_t i = 0; i < by_name.size(); ++i)
    by_name[i] = flops_formula(trace.string(StringId(i)));
  const FlopsOfCalls flops_of(trace);
  Evidence seen(data);
  Changes changes(data.program());
  std::vector<double> rates;  // operations by nanosecond
  for (std::size_t row = 0; row < trace.tracks().size(); ++row) {
    Nanos until_ns = trace.first_ns();  // of the product around it
    for (const SpanId op : trace.track_spans(TrackId(row))) {
      const StringId name = trace.spans().name[op];
      if (trace.spans().kind[op] != SpanKind::CpuOp || !name.valid()) continue;
      if (!is_product(by_name[name.index()]) || trace.end_ns(op) <= until_ns) continue;
      until_ns = trace.end_ns(op);
      const std::uint64_t one = flops_of(trace, op);
      if (one < kLeastFlops || !is_of_floats(trace, op) || !reuses_data(trace, op)) continue;
      if (!data.steady.has(trace.spans().start_ns[op])) continue;
      rates.push_back(static_cast<double>(one) /
                      static_cast<double>(std::max<Nanos>(trace.spans().duration_ns[op], 1)));
      seen.add(op, TrackId(row), trace.spans().start_ns[op], trace.end_ns(op));
      changes.scale_call(op, kLeft);
    }
  }
  if (seen.empty() ||
      static_cast<double>(seen.total_ns()) < kLeastOfTime * static_cast<double>(report.measured_ns))
    return;
  const auto at = static_cast<std::ptrdiff_t>(kQuantile * static_cast<double>(rates.size() - 1));
  std::nth_element(rates.begin(), rates.begin() + at, rates.end());
  const double rate = rates[static_cast<std::size_t>(at)];
  if (rate >= kSlowFlopsPerNs) return;
  add_simulated(
      data, report,
      {.id = "slow_products",
       .title = "Matrix products are slow: the library may not use the vector units",
       .detail = format_text("Nine in ten of these calls reached at most {:.1f} GFLOP/s: {}. An "
                             "optimised library reaches 15 to 150 on one core. The saving assumes "
                             "that they take an eighth of the time.",
                             rate, seen.lengths()),
       .advice = "Check which BLAS the tensor library calls (ldd libtorch_cpu.so, "
                 "torch.__config__.show()). The reference BLAS of Linux distributions does not use "
                 "the vector units: install OpenBLAS or MKL in its place (Debian: "
                 "libopenblas0-pthread).",
       .command = "sonde table TRACE --sort-by self_cpu_time_total --columns flops_per_second"},
      seen, seen.total_ns(), changes);
}

}  // namespace sonde::detail
