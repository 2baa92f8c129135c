// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The macros in functions that several translation units share.

#include <sonde/record.h>

inline void in_inline_function() {
  SONDE_SCOPE("inline function");
  SONDE_INSTANT("inline instant");
}

template <typename T>
T in_template(T value) {
  SONDE_SCOPE("template");
  SONDE_COUNTER("template value", value);
  return value;
}

// Defined in macros_other.cpp.
void from_another_unit();
