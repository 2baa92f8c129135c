// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/operators/tensor_size.h"

#include <algorithm>
#include <string_view>

namespace sonde::detail {
namespace {

struct ElementType {
  std::string_view name;
  std::int64_t bytes;
};

// Both C++'s names and PyTorch's.
constexpr ElementType kElementTypes[] = {
    {"float", 4},
    {"long int", 8},
    {"long", 8},
    {"int", 4},
    {"double", 8},
    {"bool", 1},
    {"unsigned char", 1},
    {"signed char", 1},
    {"char", 1},
    {"short", 2},
    {"short int", 2},
    {"unsigned short", 2},
    {"unsigned int", 4},
    {"unsigned long", 8},
    {"c10::Half", 2},
    {"c10::BFloat16", 2},
    {"c10::complex<float>", 8},
    {"c10::complex<double>", 16},
    {"c10::complex<c10::Half>", 4},
    {"c10::qint8", 1},
    {"c10::quint8", 1},
    {"c10::qint32", 4},
};

// The product; 0 if it is negative or overflows.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) return 0;
  return product;
}

}  // namespace

std::int64_t element_bytes(const Trace& trace, OpArgumentId argument) {
  const std::int32_t known = trace.op_arguments().element_bytes[argument];
  if (known > 0) return known;
  const std::string_view name = trace.string(trace.op_arguments().dtype[argument]);
  for (const ElementType& type : kElementTypes) {
    if (type.name == name) return type.bytes;
  }
  return name.starts_with("c10::Float8") ? 1 : 0;
}

std::int64_t tensor_bytes(const Trace& trace, OpArgumentId argument) {
  const OpArgumentTable& arguments = trace.op_arguments();
  const auto at = [&trace](DimId first, std::int32_t i) {
    const std::size_t row = first.index() + static_cast<std::size_t>(i);
    return row < trace.dims().size() ? trace.dims().value[row] : 0;
  };
  const DimId sizes = arguments.dims_first[argument];
  const DimId strides = arguments.strides_first[argument];
  const std::int32_t dims = arguments.dims_count[argument];
  const bool strided = arguments.strides_count[argument] == dims;
  if (dims < 0 || (dims > 0 && !sizes.valid())) return 0;
  std::int64_t elements = 1;
  std::int64_t furthest = dims == 0 ? 1 : 0;
  for (std::int32_t i = 0; i < dims; ++i) {
    elements = times(elements, at(sizes, i));
    if (strided && strides.valid())
      furthest = std::max(furthest, times(at(sizes, i), at(strides, i)));
  }
  return times(strided ? furthest : elements, element_bytes(trace, argument));
}

}  // namespace sonde::detail
