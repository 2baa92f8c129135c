// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Which host call started what on a device: the rule, and the column that it fills.

#include <cstdint>
#include <vector>

#include "sonde/trace/tables_gen.h"

namespace sonde {

// The calls of devices' runtimes and drivers by their correlation number, which is unique within a
// process. Several calls may share one:
//
//   cudaLaunchKernel ⊃ cuLaunchKernel        one inside the other: the outer is found
//   cuLibraryLoadData, then cuLaunchKernel   one after the other: the last is found, because CUDA
//                                            loads a kernel at its first launch, under its number
class CallsByNumber {
 public:
  CallsByNumber() = default;
  // Spans of one track must ascend by start, with outer spans before inner ones.
  explicit CallsByNumber(const TraceTables& tables);
  bool empty() const noexcept { return calls_.empty(); }
  // Invalid if there is no such call, and for the number 0.
  SpanId find(ProcessId process, std::int64_t number) const;

 private:
  struct Call {
    std::uint32_t process;
    std::uint32_t row;
    std::int64_t number;
  };
  void keep_one_each(const SpanTable& spans);

  std::vector<Call> calls_;  // by process and number
};

// The process of the span's track; invalid if there is none.
ProcessId process_of(const TraceTables& tables, std::size_t span);

// Fills spans.launch: the call with the number of the work, else the outermost operator with its
// external id. Spans must be in row order. If nothing was launched, this takes one pass over the
// spans.
void fill_launches(TraceTables& tables);

}  // namespace sonde
