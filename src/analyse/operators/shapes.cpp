// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/operators/shapes.h"

#include <algorithm>

namespace sonde::detail {

std::string shapes_text(const Trace& trace, ArgumentListId list) {
  std::string text = "[";
  if (!list.valid()) return "[]";
  const OpArgumentTable& arguments = trace.op_arguments();
  const std::size_t first = trace.argument_lists().first[list].index();
  const auto count = static_cast<std::size_t>(std::max(trace.argument_lists().count[list], 0));
  for (std::size_t i = 0; i < count; ++i) {
    const OpArgumentId argument(first + i);
    if (arguments.role[argument] != ArgumentRole::Input || arguments.element[argument] >= 0) {
      continue;
    }
    if (text.size() > 1) text += ", ";
    text += '[';
    if (arguments.kind[argument] == ArgumentKind::Tensor) {
      const std::size_t dims = arguments.dims_first[argument].index();
      for (std::int32_t d = 0; d < arguments.dims_count[argument]; ++d) {
        if (d > 0) text += ", ";
        text += std::to_string(trace.dims().value[dims + static_cast<std::size_t>(d)]);
      }
    }
    text += ']';
  }
  text += ']';
  return text;
}

}  // namespace sonde::detail
