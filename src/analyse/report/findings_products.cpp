// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How fast matrix products run on the host, and in which precision. A library that is not made for
// the processor takes ten times as long as one that is, and nothing else in a trace shows it.

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
// A core does less only without its vector units: simple loops reach 1 to 9, optimised libraries 15
// (SSE) to 150 (AVX-512).
constexpr double kSlowFlopsPerNs = 12;
// What is left of the time with an optimised library; assumed.
constexpr double kLeft = 1.0 / 8;
// … and what is left of products of doubles with floats, if the library uses the vector units.
constexpr double kLeftOfDoubles = 0.5;
constexpr double kLeastOfTime = 0.1;
// With fewer rows or columns, what limits a product is reading its matrices.
constexpr std::int64_t kLeastSize = 16;

bool is_product(FlopsFormula formula) {
  return formula == FlopsFormula::Mm || formula == FlopsFormula::Addmm ||
         formula == FlopsFormula::Bmm || formula == FlopsFormula::Baddbmm;
}

// "float" or "double"; others may lack instructions.
std::string_view type_of(const Trace& trace, SpanId op) {
  for (const OpArgumentId argument : trace.arguments(op)) {
    const OpArgumentTable& table = trace.op_arguments();
    if (table.kind[argument] == ArgumentKind::Tensor && table.dtype[argument].valid())
      return trace.string(table.dtype[argument]);
  }
  return {};
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

class ProductFindings {
 public:
  ProductFindings(const ReportData& data, Report& report)
      : data_(data), report_(report), trace_(report.trace), slow_(data), doubles_(data) {}

  void run() {
    std::vector<FlopsFormula> by_name(trace_.strings().size());
    for (std::size_t i = 0; i < by_name.size(); ++i)
      by_name[i] = flops_formula(trace_.string(StringId(i)));
    for (std::size_t row = 0; row < trace_.tracks().size(); ++row) {
      Nanos until_ns = trace_.first_ns();  // of the product around it
      for (const SpanId op : trace_.track_spans(TrackId(row))) {
        const StringId name = trace_.spans().name[op];
        if (trace_.spans().kind[op] != SpanKind::CpuOp || !name.valid()) continue;
        if (!is_product(by_name[name.index()]) || trace_.end_ns(op) <= until_ns) continue;
        until_ns = trace_.end_ns(op);
        if (data_.steady.has(trace_.spans().start_ns[op])) look_at(op);
      }
    }
    if (is_slow()) {
      say_slow();
    } else {
      say_doubles();
    }
  }

 private:
  struct Products {
    explicit Products(const ReportData& data) : seen(data), changes(data.program()) {}
    Evidence seen;
    Changes changes;
  };

  void look_at(SpanId op) {
    const std::uint64_t flops = flops_of_(trace_, op);
    const std::string_view type = type_of(trace_, op);
    if (flops < kLeastFlops || (type != "float" && type != "double")) return;
    if (type == "double") take(doubles_, op, kLeftOfDoubles);
    if (!reuses_data(trace_, op)) return;
    take(slow_, op, kLeft);
    rates_.push_back(static_cast<double>(flops) /
                     static_cast<double>(std::max<Nanos>(trace_.spans().duration_ns[op], 1)));
  }

  void take(Products& products, SpanId op, double left) const {
    products.seen.add(op, trace_.spans().track[op], trace_.spans().start_ns[op], trace_.end_ns(op));
    products.changes.scale_call(op, left);
  }

  bool take_much(const Products& products) const {
    return !products.seen.empty() && static_cast<double>(products.seen.total_ns()) >=
                                         kLeastOfTime * static_cast<double>(report_.measured_ns);
  }

  bool is_slow() {
    if (!take_much(slow_)) return false;
    // The median: an optimised library is above the limit even where it waits for a core half of
    // the time, and a slow one may be above it for some sizes.
    const std::size_t middle = rates_.size() / 2;
    std::nth_element(rates_.begin(), rates_.begin() + static_cast<std::ptrdiff_t>(middle),
                     rates_.end());
    rate_ = rates_[middle];
    return rate_ < kSlowFlopsPerNs;
  }

  void say_slow() {
    add_simulated(
        data_, report_,
        {.id = "slow_products",
         .title = "Matrix products are slow: the library may not use the vector units",
         .detail =
             format_text("Half of these calls reached at most {:.1f} GFLOP/s: {}. An "
                         "optimised library reaches 15 to 150 on one core. The saving assumes "
                         "that they take an eighth of the time.",
                         rate_, slow_.seen.lengths()),
         .advice = "Check which BLAS the tensor library calls (ldd libtorch_cpu.so, "
                   "torch.__config__.show()). The reference BLAS of Linux distributions does not "
                   "use the vector units: install OpenBLAS or MKL in its place (Debian: "
                   "libopenblas0-pthread).",
         .command = "sonde table TRACE --sort-by self_cpu_time_total --columns flops_per_second"},
        slow_.seen, slow_.seen.total_ns(), slow_.changes);
  }

  void say_doubles() {
    if (!take_much(doubles_)) return;
    add_simulated(
        data_, report_,
        {.id = "double_products",
         .title = "Matrix products compute with 64-bit floats",
         .detail = format_text(
             "Their tensors are of type double: {}. The saving assumes that with 32 bits they take "
             "half of the time.",
             doubles_.seen.lengths()),
         .advice = "If 32 bits are exact enough, convert the data and the model: arrays of NumPy "
                   "have 64 bits unless they are told otherwise (torch.from_numpy(x).float()).",
         .command = "sonde table TRACE --sort-by self_cpu_time_total --columns flops_per_second"},
        doubles_.seen, doubles_.seen.total_ns(), doubles_.changes);
  }

  const ReportData& data_;
  Report& report_;
  const Trace& trace_;
  const FlopsOfCalls flops_of_{trace_};
  Products slow_, doubles_;
  std::vector<double> rates_;  // operations by nanosecond
  double rate_ = 0;            // of half of them at most
};

}  // namespace

void find_in_products(const ReportData& data, Report& report) {
  if (!report.devices.empty() || report.trace.op_arguments().empty()) return;
  ProductFindings(data, report).run();
}

}  // namespace sonde::detail
