// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "macros_places.h"

void from_another_unit() {
  in_inline_function();
  in_template(1);
}
