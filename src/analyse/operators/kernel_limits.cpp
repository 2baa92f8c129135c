// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/kernel_limits.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyse/operators/flops.h"
#include "analyse/operators/tensor_size.h"
#include "base/sum.h"

namespace sonde {
namespace {

struct KnownDevice {
  std::string_view part;  // of its name
  double float64, float32, tf32, float16, bytes;
};

// From the makers' data sheets: dense matrices, boost clock. The first whose part is in the name.
constexpr std::array kDevices = {
    KnownDevice{"B200", 37'000, 75'000, 1'100'000, 2'250'000, 8'000},
    KnownDevice{"H200", 34'000, 67'000, 494'000, 989'000, 4'800},
    KnownDevice{"H100 PCIe", 26'000, 51'000, 378'000, 756'000, 2'000},
    KnownDevice{"H100 NVL", 30'000, 60'000, 418'000, 835'000, 3'900},
    KnownDevice{"H100", 34'000, 67'000, 494'000, 989'000, 3'350},
    KnownDevice{"A100-SXM4-80GB", 9'700, 19'500, 156'000, 312'000, 2'039},
    KnownDevice{"A100 80GB PCIe", 9'700, 19'500, 156'000, 312'000, 1'935},
    KnownDevice{"A100", 9'700, 19'500, 156'000, 312'000, 1'555},
    KnownDevice{"V100", 7'800, 15'700, 0, 125'000, 900},
    KnownDevice{"Tesla T4", 250, 8'100, 0, 65'000, 320},
    KnownDevice{"L40S", 1'430, 91'600, 183'000, 362'000, 864},
    KnownDevice{"NVIDIA L4", 473, 30'300, 60'000, 121'000, 300},
    KnownDevice{"A10G", 488, 31'500, 35'000, 70'000, 600},
    KnownDevice{"NVIDIA A10", 488, 31'200, 62'500, 125'000, 600},
    KnownDevice{"RTX A6000", 605, 38'700, 77'400, 154'800, 768},
    KnownDevice{"RTX A5000", 434, 27'800, 55'600, 111'100, 768},
    KnownDevice{"RTX 4090", 1'290, 82'600, 82'600, 165'200, 1'008},
    KnownDevice{"RTX 3090", 556, 35'600, 35'600, 71'200, 936},
};

// Kernels that reach less of either peak are limited by something else.
constexpr double kLeastShare = 0.1;
// Operators that call others count for the kernels of those, so far down.
constexpr int kMostLevels = 6;

DevicePeaks peaks_of(const Trace& trace) {
  const DeviceTable& devices = trace.devices();
  DevicePeaks peaks;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string_view name = trace.string(devices.name[i]);
    if (name.empty()) continue;
    // Of different devices nothing is assumed.
    if (!peaks.device.empty() && peaks.device != name) return {.device = "different devices"};
    peaks.device = name;
  }
  for (const KnownDevice& one : kDevices) {
    if (peaks.device.find(one.part) == std::string::npos) continue;
    return {.device = peaks.device,
            .float64 = one.float64,
            .float32 = one.float32,
            .tf32 = one.tf32,
            .float16 = one.float16,
            .bytes = one.bytes};
  }
  return peaks;
}

bool is_product(detail::FlopsFormula formula) {
  using detail::FlopsFormula;
  return formula == FlopsFormula::Conv2d || formula == FlopsFormula::Mm ||
         formula == FlopsFormula::Addmm || formula == FlopsFormula::Bmm ||
         formula == FlopsFormula::Baddbmm;
}

// Whether a kernel multiplies 32-bit floats on the ordinary units, by its name.
bool is_on_ordinary_units(std::string_view kernel) {
  for (const std::string_view part : {"ffma", "sgemm", "simt"})
    if (kernel.find(part) != std::string_view::npos) return true;
  return false;
}

class LimitMaker {
 public:
  explicit LimitMaker(const Trace& trace) : trace_(trace), flops_(trace) {}

  KernelLimits make() {
    out_.peaks = peaks_of(trace_);
    add_kernels();
    for (const auto& [op, call] : calls_) add(SpanId(op), call);
    for (auto& [key, sum] : sums_) out_.operators.push_back(judged(sum));
    std::sort(out_.operators.begin(), out_.operators.end(),
              [](const OperatorLimit& a, const OperatorLimit& b) {
                return std::tuple(-a.time_ns, std::string_view(a.name), std::string_view(a.type)) <
                       std::tuple(-b.time_ns, std::string_view(b.name), std::string_view(b.type));
              });
    return std::move(out_);
  }

 private:
  struct Call {
    Nanos time_ns = 0;
    SpanId longest;  // kernel
  };
  struct Sum {
    OperatorLimit limit;
    double operations = 0;
    double bytes = 0;
    double at_peak_ns = 0;  // how long the operations would take at it
  };

  void add_kernels() {
    for (const SpanId kernel : trace_.all_spans()) {
      if (trace_.spans().kind[kernel] != SpanKind::Kernel) continue;
      const SpanId op = operator_of(kernel);
      if (!op.valid()) continue;
      Call& call = calls_[op.value()];
      const Nanos time_ns = trace_.spans().duration_ns[kernel];
      detail::add_to(call.time_ns, time_ns);
      if (!call.longest.valid() || time_ns > trace_.spans().duration_ns[call.longest])
        call.longest = kernel;
    }
  }

  // The nearest operator with a formula, else the one that launched it, if its inputs are known.
  SpanId operator_of(SpanId kernel) const {
    SpanId first;
    int levels = 0;
    for (SpanId at = trace_.spans().launch[kernel]; at.valid() && levels < kMostLevels;
         at = trace_.spans().parent[at]) {
      if (trace_.spans().kind[at] != SpanKind::CpuOp) continue;
      ++levels;
      if (!trace_.spans().arguments[at].valid()) continue;
      if (flops_(trace_, at) > 0) return at;
      if (!first.valid()) first = at;
    }
    return first;
  }

  void add(SpanId op, const Call& call) {
    const auto [bytes, type] = inputs_of(op);
    if (bytes <= 0 || call.time_ns <= 0) return;
    Sum& sum = sums_[{trace_.spans().name[op].value(), type.value()}];
    sum.limit.name = trace_.name(op);
    sum.limit.type = trace_.string(type);
    ++sum.limit.count;
    detail::add_to(sum.limit.time_ns, call.time_ns);
    sum.bytes += bytes;
    const auto operations = static_cast<double>(flops_(trace_, op));
    sum.operations += operations;
    const double peak = peak_of(op, sum.limit.type, trace_.name(call.longest));
    if (peak > 0) sum.at_peak_ns += operations / peak;
  }

  // Bytes that it must read and write, as far as sizes are known: its inputs, and what a product or
  // an operator on elements makes. And the type of the largest input.
  std::pair<double, StringId> inputs_of(SpanId op) const {
    const OpArgumentTable& table = trace_.op_arguments();
    double bytes = 0;
    double most = 0;
    double element = 0;
    StringId type;
    std::vector<std::pair<double, double>> matrices;  // rows and columns, with the batch in rows
    for (const OpArgumentId argument : trace_.arguments(op)) {
      if (table.kind[argument] != ArgumentKind::Tensor) continue;
      const auto each = static_cast<double>(detail::element_bytes(trace_, argument));
      double elements = 1;
      double columns = 1;
      for (std::int32_t i = 0; i < table.dims_count[argument]; ++i) {
        columns = static_cast<double>(
            trace_.dims()
                .value[DimId(table.dims_first[argument].value() + static_cast<std::uint32_t>(i))]);
        elements *= columns;
      }
      if (each <= 0 || !(elements > 0)) continue;
      // An expanded tensor is smaller than its sizes say.
      const auto stored = static_cast<double>(detail::tensor_bytes(trace_, argument));
      bytes += stored > 0 ? std::min(stored, elements * each) : elements * each;
      if (table.dims_count[argument] >= 2) matrices.emplace_back(elements / columns, columns);
      if (elements * each <= most) continue;
      most = elements * each;
      element = each;
      type = table.dtype[argument];
    }
    return {bytes + made_bytes(op, most, element, matrices), type};
  }

  double made_bytes(SpanId op, double most, double element,
                    const std::vector<std::pair<double, double>>& matrices) const {
    using detail::FlopsFormula;
    const FlopsFormula formula = detail::flops_formula(trace_.name(op));
    if (formula == FlopsFormula::Mul || formula == FlopsFormula::Add) return most;
    if (!is_product(formula) || formula == FlopsFormula::Conv2d || matrices.size() < 2) return 0;
    return matrices[matrices.size() - 2].first * matrices.back().second * element;
  }

  double peak_of(SpanId op, std::string_view type, std::string_view kernel) const {
    const DevicePeaks& peaks = out_.peaks;
    if (type == "double") return peaks.float64;
    if (!is_product(detail::flops_formula(trace_.name(op)))) return peaks.float32;
    if (type != "float") return peaks.float16;
    return is_on_ordinary_units(kernel) || peaks.tf32 <= 0 ? peaks.float32 : peaks.tf32;
  }

  OperatorLimit judged(const Sum& sum) const {
    OperatorLimit one = sum.limit;
    const auto time_ns = static_cast<double>(one.time_ns);
    one.operations_by_ns = sum.operations / time_ns;
    one.bytes_by_ns = sum.bytes / time_ns;
    if (!out_.peaks.is_known()) return one;
    one.operations_share = sum.at_peak_ns / time_ns;
    one.bytes_share = one.bytes_by_ns / out_.peaks.bytes;
    const double most = std::max(one.operations_share, one.bytes_share);
    one.limit = most < kLeastShare                        ? KernelLimit::Neither
                : one.operations_share >= one.bytes_share ? KernelLimit::Arithmetic
                                                          : KernelLimit::Memory;
    return one;
  }

  const Trace& trace_;
  const detail::FlopsOfCalls flops_;
  KernelLimits out_;
  std::unordered_map<std::uint32_t, Call> calls_;                // by operator
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sum> sums_;  // by name and type
};

}  // namespace

std::string_view to_string(KernelLimit limit) noexcept {
  switch (limit) {
    case KernelLimit::Arithmetic:
      return "arithmetic";
    case KernelLimit::Memory:
      return "memory";
    case KernelLimit::Neither:
      return "neither";
    case KernelLimit::Unknown:
      break;
  }
  return "unknown";
}

KernelLimits kernel_limits(const Trace& trace) {
  if (trace.op_arguments().empty()) return {};
  return LimitMaker(trace).make();
}

}  // namespace sonde
