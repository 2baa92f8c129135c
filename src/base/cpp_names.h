// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Names of C++ functions, such as kernels have, as people read them.

#include <string>
#include <string_view>

namespace sonde {

// The readable name of a mangled one; any other text as it is. Names that would become very long
// stay as they are.
std::string demangled(const std::string& name);

// The function's own name, without return type, namespaces, template arguments and parameters:
// "void at::native::elementwise_kernel<4, F>(int, F)" is "elementwise_kernel". A name that is not
// of this form stays as it is: "aten::mm", "Memcpy HtoD (Pageable -> Device)".
std::string short_cpp_name(std::string_view name);

// The same name whatever the sizes: integers among template arguments, and those that tile names
// carry ("128x64_32x6"), become `#`, parameters are left out.
std::string folded_cpp_name(std::string_view name);

}  // namespace sonde
