// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Names, advice and source locations of the patterns.

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "analyse/events/stacks.h"
#include "analyse/patterns/source_locations.h"
#include "sonde/analyse/patterns.h"

namespace sonde {
namespace {

struct PatternText {
  std::string_view id;
  std::string_view torch_name;
  std::string_view advice;
};

constexpr std::array<PatternText, kPatterns> kTexts = {{
    {"extra_cuda_copy", "Extra CUDA Copy Pattern",
     "A tensor is filled on the host and then copied to the device. Create it on the device: pass "
     "device= to the call that creates it."},
    {"for_loop_indexing", "For Loop Indexing Pattern",
     "Process the whole tensor at once: one operator on all elements takes little longer than on "
     "one of them."},
    {"fp32_matmul", "FP32 MatMul Pattern",
     "Matrices of 32-bit floats are multiplied in full precision on a GPU that has TF32. If TF32 "
     "is precise enough, allow it: torch.backends.cuda.matmul.allow_tf32 = True."},
    {"optimizer_single_tensor", "Optimizer Single Tensor Pattern",
     "The optimiser updates one parameter at a time, with small kernels for each. Create it with "
     "foreach=True or fused=True."},
    {"synchronized_data_loader", "Synchronized DataLoader Pattern",
     "The training process loads the batches itself and waits for them. Set num_workers of the "
     "DataLoader above 0."},
    {"gradient_not_set_to_none", "Gradient Set To Zero Instead of None Pattern",
     "zero_grad() fills gradients with zeros, and the next gradients are added to them. Drop them "
     "instead: zero_grad(set_to_none=True)."},
    {"conv2d_bias_batch_norm", "Enabling Bias in Conv2d Followed By BatchNorm Pattern",
     "A convolution adds a bias that the batch norm after it removes again. Create it with "
     "bias=False."},
    {"matmul_dim_fp16", "Matrix Multiplication Dimension Not Aligned Pattern",
     "Matrices of 16-bit floats have sizes that are not multiples of 8, which are slow on tensor "
     "cores. Pad them."},
}};

const PatternText& text_of(Pattern pattern) {
  return kTexts[std::min<std::size_t>(static_cast<std::size_t>(pattern), kPatterns - 1)];
}

// "train.py(12): step" as "train.py:12"; empty without a file, or if the file is a library's.
std::string user_place(std::string_view frame) {
  if (detail::is_library_frame(frame)) return {};
  const std::size_t end = frame.find("): ");
  const std::size_t begin = frame.rfind('(', end);
  if (end == std::string_view::npos || begin == std::string_view::npos) return {};
  const std::string_view line = frame.substr(begin + 1, end - begin - 1);
  if (line.empty() || line.find_first_not_of("0123456789") != std::string_view::npos) return {};
  return std::string(frame.substr(0, begin)) + ":" + std::string(line);
}

std::string own_place(const Trace& trace, SpanId span) {
  for (const std::string& frame : detail::own_stack(trace, span)) {
    std::string place = user_place(frame);
    if (!place.empty()) return place;
  }
  return {};
}

std::string report_of(detail::SourceLocations& places, Pattern pattern, SpanId span) {
  std::string text(advice(pattern));
  if (pattern == Pattern::Fp32MatMul) return text;  // PyTorch says it once
  const std::string place = places.of(span);
  return text + "\n[Source Code Location] " +
         (place.empty() ? "No source code location found" : place);
}

}  // namespace

std::string_view id(Pattern pattern) noexcept {
  return text_of(pattern).id;
}
std::string_view torch_name(Pattern pattern) noexcept {
  return text_of(pattern).torch_name;
}
std::string_view advice(Pattern pattern) noexcept {
  return text_of(pattern).advice;
}

namespace detail {

bool is_library_frame(std::string_view frame) {
  constexpr std::array<std::string_view, 9> kBeginnings = {
      "torch/", "<", "nn.Module", "../sysdeps/", "at::", "c10::", "torch::", "libtorch", "libc10"};
  constexpr std::array<std::string_view, 6> kParts = {"-packages/torch/", "-packages/sonde/",
                                                      "/torch/csrc/",     "/include/ATen/",
                                                      "/include/c10/",    "/include/torch/"};
  return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](std::string_view text) { return frame.starts_with(text); }) ||
         std::any_of(kParts.begin(), kParts.end(), [&](std::string_view text) {
           return frame.find(text) != std::string_view::npos;
         });
}

std::string SourceLocations::of(SpanId span) {
  std::string place = own_place(trace_, span);
  const SpanTable& spans = trace_.spans();
  for (SpanId at = span; place.empty() && at.valid(); at = spans.parent[at]) {
    if (spans.forward_thread[at] == 0) continue;
    const SpanId forward = forward_ops_.of(at);
    if (forward.valid()) place = own_place(trace_, forward);
  }
  return place;
}

}  // namespace detail

std::string source_location(const Trace& trace, SpanId span) {
  return detail::SourceLocations(trace).of(span);
}

std::string report_text(const Trace& trace, Pattern pattern, SpanId span) {
  detail::SourceLocations places(trace);
  return report_of(places, pattern, span);
}

std::string tidy_report(const Trace& trace, const std::vector<PatternMatches>& matches) {
  detail::SourceLocations places(trace);
  const std::string rule(40, '-');
  std::string text = rule + "TorchTidy Report" + rule + "\nMatched Events:\n";
  std::string summary;
  for (const PatternMatches& found : matches) {
    if (found.pattern == Pattern::ForLoopIndexing) continue;  // not part of PyTorch's report
    std::set<std::string> said;
    for (const SpanId span : found.spans) {
      const std::string report = report_of(places, found.pattern, span);
      if (said.insert(report).second) text += "\n" + report + "\n";
    }
    summary += std::string(torch_name(found.pattern)) + ": " + std::to_string(found.spans.size()) +
               " events matched.\n";
  }
  return text + "Summary:\n" + summary + rule + "TorchTidy Report" + rule + "\n";
}

}  // namespace sonde
