// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads the arguments that sonde/source/op_inputs.h packed as rows.

#include <functional>
#include <string_view>

#include "sonde/trace/builder.h"

namespace sonde {

// `type_name` returns the text of a number in the words. Invalid if the bytes make no sense.
ArgumentListId read_op_inputs(TraceBuilder& builder, std::string_view bytes,
                              const std::function<StringId(std::uint64_t)>& type_name);

}  // namespace sonde
