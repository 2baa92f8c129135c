// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A unit with recording compiled away, in a program whose other units record.

#define SONDE_DISABLE
#include "disabled_unit.h"

#include <sonde/record.h>

void in_disabled_unit() {
  SONDE_SCOPE("gone");
  SONDE_SCOPE("gone", "batch", 1);
  SONDE_FUNCTION("batch", 1);
  const sonde::record_function with_arguments("gone", "batch", 1);
  sonde::recorded("gone", [] {});
  sonde::Laps laps;
  SONDE_LAP(laps, "gone");
  laps.end();
  static sonde::Site site = {"gone", "", "", 0, 0};
  const sonde::Scope scope(site);
  laps.next(site);
  sonde::AsyncScope begun(site);
  begun.end();
  sonde::record_function range("gone", "text");
  range.end();
  sonde::AsyncScope async = SONDE_ASYNC("gone");
  async.end();
  const sonde::Flow flow;
  flow.out();
  flow.in();
  if (sonde::is_recording()) SONDE_INSTANT("gone");
}
