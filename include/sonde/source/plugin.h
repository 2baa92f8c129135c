/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef SONDE_PLUGIN_H
#define SONDE_PLUGIN_H

/* A source of events in a shared library, whatever language and C++ library it was built with:
 * the C form of sonde/source/source.h. It records through sonde.h and op.h like everyone else.
 * Sessions only say when to record, and what.
 *
 *   static int prepare(void* self, const sonde_request* request, char* why, size_t why_bytes);
 *   static void start(void* self);
 *   static void stop(void* self);
 *   static const sonde_plugin plugin = {sizeof(plugin), SONDE_ACTIVITY_CPU, "mine", 0, prepare,
 *                                       start, stop, 0};
 *   sonde_add_plugin(&plugin);
 *
 * The functions are called from the thread that starts or stops a session, one call at a time,
 * and must return fast. start() is called when a window has opened, stop() while it is still
 * open. In stop() a plugin records what it still holds back, such as times that a device has
 * reported since (device.h), or counts it as lost.
 *
 * A plugin that holds back much, or for long, has a fourth function, flush(): see below.
 *
 * The size at the beginning of each struct is its version: structs only grow at their end. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using): C names */

/* PyTorch's numbers of ProfilerActivity. */
enum { SONDE_ACTIVITY_CPU = 0, SONDE_ACTIVITY_CUDA = 2, SONDE_ACTIVITY_PRIVATEUSE1 = 5 };

/* What a session wants. It may grow at its end: `size` says how much of it there is. */
typedef struct sonde_request {
  uint32_t size;
  uint8_t record_shapes;
  uint8_t profile_memory;
  uint8_t with_stack;
  uint8_t with_flops;
  uint8_t with_modules;
  uint8_t gpu_level; /* for CUDA: 0 linked, 1 lean, 2 full */
  uint8_t with_native_stack;
} sonde_request;

typedef struct sonde_plugin {
  uint32_t size; /* sizeof(sonde_plugin) when its library was built */
  uint32_t activity;
  const char* name;
  void* self; /* passed to the functions */
  /* Called before the first window. If it does not return 0, the plugin takes no part in this
   * session, and the session's ledger has the reason, which it writes to `why` as 0-terminated
   * text. Called again right before each start(), and before a stop() after which others still
   * record, with the options of all of them combined; these apply from that start() or stop()
   * on. A plugin that cannot change its options while it runs continues unchanged. */
  int (*prepare)(void* self, const sonde_request* request, char* why, size_t why_bytes);
  void (*start)(void* self);
  void (*stop)(void* self);
  /* May be 0. Records what is held back and complete, so that little is lost if the program is
   * killed, and so that a snapshot has what happened just before. Called a few times a second
   * while a window is open, from one of Sonde's threads, and before a snapshot, from the thread
   * that takes it. Two calls may come at once, and with several sessions also while another
   * session starts or stops. */
  void (*flush)(void* self);
} sonde_plugin;

/* Serves all sessions that begin from now on. The struct and what it points at must stay valid.
 * Adding it again has no effect. Returns non-zero if this Sonde does not understand it. */
int sonde_add_plugin(const sonde_plugin* plugin);
/* Serves no further session. Those that run keep it until they end. */
void sonde_remove_plugin(const sonde_plugin* plugin);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
