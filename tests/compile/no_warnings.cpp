// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Objects that exist only for their destructors, and values that only a counter uses.

#include <sonde/record.h>

int marked_with_arguments(unsigned value) {
  SONDE_FUNCTION("value", value, "lambda", [] { return 3; }());
  return 1;
}

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
  const int only_an_argument = value + 2;
  SONDE_SCOPE("with arguments", "value", only_an_argument, "twice", 2.0 * value, "text", "x",
              SONDE_CATEGORY, "io");
  SONDE_INSTANT("done", "value", value);
  sonde::record_function with_arguments("range", "value", value, "is odd", value % 2 == 1);
  return sonde::recorded("called", [value] { return value; });
}
