// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The unit whose machine code check_assembly.py examines.

#include <sonde/record.h>

extern "C" void sonde_test_work() noexcept;

extern "C" void sonde_test_scope() {
  SONDE_SCOPE("scope");
  sonde_test_work();
}

extern "C" void sonde_test_two_scopes() {
  SONDE_SCOPE("outer");
  SONDE_SCOPE("inner");
  sonde_test_work();
}
