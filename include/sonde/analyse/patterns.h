// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// PyTorch's anti-patterns, found in any trace: what its pattern matcher says could be faster.
//
//   for (const PatternMatches& found : match_patterns(trace)) {
//     if (found.spans.empty()) continue;
//     std::cout << torch_name(found.pattern) << ": " << found.spans.size() << " times, at most "
//               << found.saving_ns << " ns. " << advice(found.pattern) << "\n"
//               << source_location(trace, found.spans.front()) << "\n";
//   }
//
// The rules are PyTorch's, over the same tree of operators and Python functions;
// docs/compatibility.md has the differences, docs/metrics.md says how `saving_ns` is counted. Most
// patterns need Python calls or the inputs of operators; if a trace lacks them, `missing` says so.
// The running time is linear in the trace.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

// In PyTorch's order.
enum class Pattern : std::uint8_t {
  ExtraCudaCopy,           // a tensor is filled on the host and copied
  ForLoopIndexing,         // a loop over the elements of a tensor
  Fp32MatMul,              // products in full precision although the device has TF32
  OptimizerSingleTensor,   // an optimiser updates one parameter at a time
  SynchronizedDataLoader,  // data is loaded while nothing else happens
  GradientNotSetToNone,    // zero_grad() fills with zeros
  Conv2dBiasBatchNorm,     // a bias that the batch norm after it removes
  MatMulDimInFp16,         // sizes that are slow on tensor cores
};
inline constexpr std::size_t kPatterns = 8;

// For programs: "extra_cuda_copy", …
std::string_view id(Pattern pattern) noexcept;
// PyTorch's name: "Extra CUDA Copy Pattern", …
std::string_view torch_name(Pattern pattern) noexcept;
// What is wrong and what to do, in a sentence or two.
std::string_view advice(Pattern pattern) noexcept;

struct PatternMatches {
  Pattern pattern = Pattern::ExtraCudaCopy;
  std::vector<SpanId> spans;  // PyTorch's matched events, in the order of the trace
  // The most time that fixing it could save.
  Nanos saving_ns = 0;
  // Why it could not be checked, as a sentence without a full stop; empty if it was.
  std::string missing;
};

// One entry per pattern, in order, matched or not.
std::vector<PatternMatches> match_patterns(const Trace& trace);

// "train.py:12": the innermost caller of the span that is not PyTorch's own. For a gradient, the
// caller of its operator. Empty if the trace does not say.
std::string source_location(const Trace& trace, SpanId span);

// The text of PyTorch's matcher for one match: the advice and the place.
std::string report_text(const Trace& trace, Pattern pattern, SpanId span);
// The text it prints for all: the distinct texts of the matches, then a line for each pattern.
std::string tidy_report(const Trace& trace, const std::vector<PatternMatches>& matches);

}  // namespace sonde
