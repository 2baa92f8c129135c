// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: use of deleted function
#include <sonde/record.h>

void caller(sonde::Site& site) {
  const sonde::Scope scope(site);
#ifdef REJECT
  const sonde::Scope copy(scope);
#endif
}
