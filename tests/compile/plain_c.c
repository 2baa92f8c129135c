/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <sonde/sonde.h>

static void every_call(void) {
  static sonde_site load = SONDE_SITE("load");
  static sonde_site count = SONDE_SITE("count");
  if (sonde_is_recording()) sonde_instant(&load);
  if (sonde_begin(&load)) {
    sonde_arg_int("signed", -1);
    sonde_arg_uint("unsigned", 1);
    sonde_arg_double("real", 0.5);
    sonde_arg_bool("truth", 1);
    sonde_arg_text("text", "seven", 5);
    sonde_category("io");
    if (sonde_lap(&count)) sonde_counter(&count, 1.0);
    sonde_end();
  }
  const sonde_range range = sonde_range_begin("batch 7", 7);
  sonde_text("seven", 5);
  sonde_range_end(range);
  const uint64_t flow = sonde_flow_new();
  sonde_flow_out(flow);
  sonde_flow_in(flow);
  sonde_async_end(sonde_async_begin(&load));
}

int main(void) {
  every_call();
  return 0;
}
