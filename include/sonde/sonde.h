/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef SONDE_SONDE_H
#define SONDE_SONDE_H

/* Recording from C, from other languages and from plugins. C++ programs include <sonde/record.h>.
 *
 *   static sonde_site load = SONDE_SITE("load");
 *   if (sonde_is_recording()) { ... }           // optional: every call checks for itself
 *   int began = sonde_begin(&load);             // 0 if nothing records
 *   ...
 *   if (began) sonde_end();
 *
 * All calls may be made from any thread at any time, never block, allocate only when a name is seen
 * for the first time, and do nothing while no session records. sonde_begin, sonde_end, sonde_lap,
 * sonde_instant and sonde_counter may also be called from signal handlers. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A place in the program, static and never moved. `id` belongs to Sonde and starts as 0. */
typedef struct sonde_site { /* NOLINT(readability-identifier-naming): a C name */
  const char* name;
  const char* function;
  const char* file;
  uint32_t line;
  uint32_t id;
} sonde_site;

#define SONDE_SITE(name) {(name), __func__, __FILE__, __LINE__, 0}

/* Not 0 while a session records. */
int sonde_is_recording(void);

/* Scopes nest: sonde_end ends the innermost one of the calling thread. Call it only after a
 * sonde_begin or sonde_lap on the same thread that returned 1. */
int sonde_begin(sonde_site* site);
void sonde_end(void);
/* Ends the innermost scope and begins another with one clock read. */
int sonde_lap(sonde_site* site);

/* A range has a name made at run time. It may be ended in any order and from any thread, once. */
typedef struct sonde_range { /* NOLINT(readability-identifier-naming): a C name */
  uint64_t position;         /* 0: nothing was recorded */
  uint64_t thread;
} sonde_range;
sonde_range sonde_range_begin(const char* name, size_t name_bytes);
void sonde_range_end(sonde_range range);
/* Text that belongs to the range or scope that this thread began last. */
void sonde_text(const char* text, size_t text_bytes);

/* Arguments of the scope, range or instant that this thread recorded last, and its category.
 * Keys and categories are 0-terminated texts. Use few different ones: each is kept for the life
 * of the process. Not for signal handlers. */
void sonde_arg_int(const char* key, int64_t value);
void sonde_arg_uint(const char* key, uint64_t value);
void sonde_arg_double(const char* key, double value);
void sonde_arg_bool(const char* key, int value);
void sonde_arg_text(const char* key, const char* text, size_t text_bytes);
void sonde_category(const char* category);

/* Work that begins on one thread and may end on another, outside the nesting of both. Returns 0 if
 * nothing was recorded. */
uint64_t sonde_async_begin(sonde_site* site);
void sonde_async_end(uint64_t async);

void sonde_instant(sonde_site* site);
/* The same with a name made at run time; not for signal handlers. */
void sonde_mark(const char* name, size_t name_bytes);
void sonde_counter(sonde_site* site, double value);

/* An arrow from the innermost open span here to the innermost open span there. */
uint64_t sonde_flow_new(void);
void sonde_flow_out(uint64_t flow);
void sonde_flow_in(uint64_t flow);

#ifdef __cplusplus
}
#endif

#endif
