// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: could not convert
#include <sonde/result.h>

// An Error becomes a Result only through Failure, so that a Result<Error> cannot be misread.
sonde::Result<int> caller(sonde::Error error) {
#ifdef REJECT
  return error;
#else
  return sonde::Failure(std::move(error));
#endif
}
