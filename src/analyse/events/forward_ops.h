// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

// The forward operators of gradients.
class ForwardOps {
 public:
  explicit ForwardOps(const Trace& trace) : trace_(trace) {}

  // The forward operator of a gradient; invalid if none was recorded.
  SpanId of(SpanId gradient);

 private:
  void index();

  const Trace& trace_;
  // Operators by sequence number, with the row of each; made when first needed.
  std::vector<std::pair<std::int64_t, std::uint32_t>> by_number_;
  bool is_indexed_ = false;
};

}  // namespace sonde::detail
