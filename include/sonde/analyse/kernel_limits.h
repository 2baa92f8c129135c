// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What limits the kernels of operators: arithmetic, or reading memory. Achieved rates are compared
// with the peaks of the device.
//
//   const KernelLimits limits = kernel_limits(trace);
//   for (const OperatorLimit& one : limits.operators)
//     std::cout << one.name << " " << to_string(one.limit) << "\n";
//
// It needs the sizes of inputs (record_shapes), and peaks for a comparison: those of common devices
// are known by their names. docs/metrics.md says how operations and bytes are counted.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

// Per nanosecond, so that operations are GFLOP/s and bytes are GB/s. 0: not known.
struct DevicePeaks {
  std::string device;  // its name
  double float64 = 0;  // on the ordinary units
  double float32 = 0;  // on the ordinary units
  double tf32 = 0;     // on tensor cores
  double float16 = 0;  // and bfloat16, on tensor cores
  double bytes = 0;    // from the device's memory
  bool is_known() const noexcept { return bytes > 0; }
};

enum class KernelLimit : std::uint8_t {
  Unknown,  // the device's peaks are not known
  Arithmetic,
  Memory,
  Neither,  // far from both: too small, or slow for another reason
};
std::string_view to_string(KernelLimit limit) noexcept;

// All calls of one operator with one type.
struct OperatorLimit {
  std::string name;
  std::string type;  // of its elements
  std::uint64_t count = 0;
  Nanos time_ns = 0;            // of its kernels
  double operations_by_ns = 0;  // 0: there is no formula
  double bytes_by_ns = 0;
  double operations_share = 0;  // of the peak
  double bytes_share = 0;
  KernelLimit limit = KernelLimit::Unknown;
};

struct KernelLimits {
  DevicePeaks peaks;                     // that are assumed
  std::vector<OperatorLimit> operators;  // longest first
};
KernelLimits kernel_limits(const Trace& trace);

}  // namespace sonde
