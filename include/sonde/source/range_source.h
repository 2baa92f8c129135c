/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef SONDE_RANGE_SOURCE_H
#define SONDE_RANGE_SOURCE_H

/* How sources of operators (plugin.h) take part in emit_nvtx and emit_itt (ranges.h). The
 * recorder itself shows scopes of sonde.h and record.h to the tools. Only a source can make the
 * names of its operators.
 *
 *   static void listen(uint32_t tools, int record_shapes);   // remember, and watch operators
 *   static const sonde_range_source source = {sizeof(source), listen};
 *   sonde_add_range_source(&source);
 *
 *   sonde_range range = sonde_tell_begin(SONDE_TOOL_NVTX, "aten::mm, seq = 3, op_id = 7");
 *   ...
 *   sonde_range_end(range);                                   // even if they listen no longer
 */

#include <stdint.h>

#include "sonde/sonde.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using): C names */

enum { SONDE_TOOL_NVTX = 2, SONDE_TOOL_ITT = 4 };

typedef struct sonde_range_source {
  uint32_t size; /* sizeof(sonde_range_source) when its library was built */
  /* Called whenever the tools that listen change, one call at a time. */
  void (*listen)(uint32_t tools, int record_shapes);
} sonde_range_source;

/* The struct must stay valid. Adding it again has no effect. If a tool listens already, listen() is
 * called now. Returns non-zero if this Sonde does not understand it. */
int sonde_add_range_source(const sonde_range_source* source);

/* The tools that listen now, as SONDE_TOOL_…; 0: none. */
uint32_t sonde_tools(void);
/* Begins a range for each of `tools` on this thread; sonde_range_end ends it. */
sonde_range sonde_tell_begin(uint32_t tools, const char* name);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
