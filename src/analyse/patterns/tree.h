// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The tree in which PyTorch's patterns are searched: operators, annotations, Python functions and
// device calls, separately for each thread.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/big_vector.h"
#include "sonde/trace.h"

namespace sonde::detail {

// What a name means to the patterns. Each is a bit; a name has at most a few.
enum class Word : std::uint32_t {
  To = 1,
  ToCopy = 1 << 1,
  Copy = 1 << 2,
  FillsTensor = 1 << 3,  // fill_, zero_, normal_, uniform_
  Select = 1 << 4,
  Mm = 1 << 5,
  MatMul = 1 << 6,  // mm, bmm, addmm
  SingleTensorOptimizer = 1 << 7,
  LoaderIter = 1 << 8,
  LoaderGetIterator = 1 << 9,
  LoaderCheckWorkers = 1 << 10,
  LoaderNext = 1 << 11,  // one batch, loaded by the process itself
  ZeroGrad = 1 << 12,
  Zero = 1 << 13,
  Zeros = 1 << 14,
  Conv2d = 1 << 15,
  ModuleConv2d = 1 << 16,
  ModuleBatchNorm2d = 1 << 17,
  AddInPlace = 1 << 18,
  Fp32Product = 1 << 19,  // a kernel of cuBLAS that multiplies in full precision
};
// The bits of one name.
std::uint32_t words_of(std::string_view name);

class PatternTree {
 public:
  explicit PatternTree(const Trace& trace);

  bool is(SpanId span, Word word) const {
    const StringId name = trace_.spans().name[span];
    return name.valid() && (words_[name.index()] & static_cast<std::uint32_t>(word)) != 0;
  }
  // The spans whose names have a meaning. They are few.
  const std::vector<SpanId>& named() const noexcept { return named_; }
  SpanId parent(SpanId span) const { return trace_.spans().parent[span]; }
  SpanId first_child(SpanId span) const { return SpanId(first_child_[span.index()]); }
  SpanId last_child(SpanId span) const { return SpanId(last_child_[span.index()]); }
  // The children of one parent, or the spans of a thread without a parent.
  SpanId next(SpanId span) const { return SpanId(next_[span.index()]); }
  SpanId previous(SpanId span) const { return SpanId(previous_[span.index()]); }

 private:
  void append(SpanId span, std::uint32_t& first, std::uint32_t& last);

  const Trace& trace_;
  std::vector<std::uint32_t> words_;  // of each string
  std::vector<SpanId> named_;
  BigVector<std::uint32_t> first_child_;
  BigVector<std::uint32_t> last_child_;
  BigVector<std::uint32_t> next_;
  BigVector<std::uint32_t> previous_;
};

}  // namespace sonde::detail
