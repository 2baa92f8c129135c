// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sonde/profiler.h>

#include <algorithm>
#include <cstdio>

// Nothing here names Sonde::cuda: linking it is enough.
int main() {
  const auto activities = sonde::supported_activities();
  const bool has_cuda =
      std::find(activities.begin(), activities.end(), sonde::Activity::Cuda) != activities.end();
  if (!has_cuda) std::fprintf(stderr, "Sonde::cuda is linked and does not serve\n");
  return has_cuda ? 0 : 1;
}
