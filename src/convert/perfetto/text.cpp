// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/perfetto/text.h"

namespace sonde::detail {

namespace {

std::string dims_text(const Trace& trace, std::size_t row) {
  const OpArgumentTable& arguments = trace.op_arguments();
  std::string text = "[";
  for (std::int32_t i = 0; i < arguments.dims_count[row]; ++i) {
    if (i > 0) text += ", ";
    const std::size_t dim = arguments.dims_first[row].index() + static_cast<std::size_t>(i);
    text += std::to_string(trace.dims().value[dim]);
  }
  return text + "]";
}

std::string argument_text(const Trace& trace, std::size_t row, std::size_t last) {
  const OpArgumentTable& arguments = trace.op_arguments();
  const std::string_view value = trace.string(arguments.value[row]);
  switch (arguments.kind[row]) {
    case ArgumentKind::Tensor: {
      std::string text(trace.string(arguments.dtype[row]));
      if (arguments.dims_count[row] >= 0) text += ' ' + dims_text(trace, row);
      return text;
    }
    case ArgumentKind::TensorList: {
      std::string text = "TensorList [";
      for (std::size_t at = row + 1; at < last && arguments.element[at] >= 0; ++at) {
        if (at > row + 1) text += ", ";
        text += dims_text(trace, at);
      }
      return text + "]";
    }
    case ArgumentKind::None:
      return value.empty() ? "None" : std::string(value);
    default:
      return std::string(value);
  }
}

std::string frame_text(const Trace& trace, FrameId frame) {
  if (!frame.valid()) return {};
  const FrameTable& frames = trace.frames();
  std::string text;
  if (frames.file[frame].valid()) {
    text = std::string(trace.string(frames.file[frame])) + "(" +
           std::to_string(frames.line[frame]) + "): ";
  }
  return text + std::string(trace.string(frames.function[frame]));
}

}  // namespace

std::string arguments_text(const Trace& trace, ArgumentListId list) {
  const std::int32_t count = trace.argument_lists().count[list];
  if (count <= 0) return {};
  const std::size_t first = trace.argument_lists().first[list].index();
  const std::size_t last = first + static_cast<std::size_t>(count);
  std::string text;
  for (std::size_t row = first; row < last; ++row) {
    if (trace.op_arguments().element[row] >= 0) continue;
    if (row > first) text += ", ";
    text += argument_text(trace, row, last);
  }
  return text;
}

std::string stack_text(const Trace& trace, StackId stack) {
  std::string text;
  for (; stack.valid(); stack = trace.stacks().parent[stack]) {
    if (!text.empty()) text += "; ";
    text += frame_text(trace, trace.stacks().frame[stack]);
  }
  return text;
}

std::string triple_text(std::int64_t x, std::int64_t y, std::int64_t z) {
  return "[" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + "]";
}

}  // namespace sonde::detail
