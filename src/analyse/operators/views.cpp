// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/operators/views.h"

#include <algorithm>
#include <array>

#include "trace/known_names.h"

namespace sonde::detail {
namespace {

// Without "aten::". Those that may copy do so in an operator of its own.
// clang-format off
constexpr std::array<std::string_view, 73> kNames = {
    "_conj", "_has_compatible_shallow_copy_type", "_neg_view", "_reshape_alias", "_to_copy",
    "_unsafe_view", "_version", "alias", "as_strided", "as_strided_", "atleast_1d",
    "broadcast_tensors", "broadcast_to", "chunk", "clone", "conj", "contiguous", "detach",
    "detach_", "diagonal", "empty", "empty_like", "empty_strided", "expand", "expand_as",
    "flatten", "imag", "is_floating_point", "is_nonzero", "lift_fresh", "matrix_H", "movedim",
    "narrow", "new_empty", "new_empty_strided", "numpy_T", "permute", "ravel", "real",
    "record_stream", "reshape", "resize_", "resolve_conj", "resolve_neg", "result_type",
    "select", "set_", "size", "slice", "split", "split_with_sizes", "squeeze", "squeeze_",
    "stride", "swapaxes", "swapdims", "t", "t_", "tensor_split", "to", "transpose",
    "transpose_", "unbind", "unflatten", "unfold", "unsafe_chunk", "unsafe_split", "unsqueeze",
    "unsqueeze_", "view", "view_as", "view_as_complex", "view_as_real",
};
// clang-format on

}  // namespace

bool leaves_data_alone(std::string_view op) noexcept {
  static_assert(std::is_sorted(kNames.begin(), kNames.end()));
  constexpr std::string_view kAten = "aten::";
  // A gradient that calls no operator only hands on what it was given.
  if (op.starts_with(kEvaluateFunction) || op == kAccumulateGrad) return true;
  return op.starts_with(kAten) &&
         std::binary_search(kNames.begin(), kNames.end(), op.substr(kAten.size()));
}

}  // namespace sonde::detail
