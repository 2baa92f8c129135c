// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Objects that live for their destructors only, and values used for nothing but a counter.

#include <sonde/record.h>

int marked(int value) {
  SONDE_FUNCTION();
  SONDE_SCOPE("work");
  sonde::record_function range("range");
  sonde::AsyncScope request = SONDE_ASYNC("request");
  sonde::Laps laps;
  SONDE_LAP(laps, "first");
  const sonde::Flow flow;
  const int only_counted = value + 1;
  SONDE_COUNTER("value", only_counted);
  SONDE_INSTANT("done");
  return value;
}
