/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef SONDE_EXECUTION_TRACE_SOURCE_H
#define SONDE_EXECUTION_TRACE_SOURCE_H

/* The interface of a library that writes the nodes of execution traces because it sees a tensor
 * library from inside. It is C, whatever C++ library it was built with. Users have
 * execution_trace.h.
 *
 *   static const sonde_et_source source = {sizeof(source), begin, start, stop};
 *   sonde_add_et_source(&source);
 *
 * Its functions are called one at a time. After start() it writes operators; after stop(), no
 * more. In stop() it writes open operators as far as they are known.
 *
 * The size at the beginning of each struct is its version: structs only grow at their end. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using): C names */

typedef struct sonde_et_text {
  const char* data;
  size_t bytes;
} sonde_et_text;

/* JSON lists with an element for every argument or result. */
typedef struct sonde_et_values {
  sonde_et_text values;
  sonde_et_text shapes;
  sonde_et_text types;
  sonde_et_text strides;
} sonde_et_values;

/* sonde/trace/execution_trace_nodes.h describes the fields. 1 is the id of the root, which Sonde
 * writes itself. */
typedef struct sonde_et_node {
  uint32_t size;
  uint64_t id;
  uint64_t parent;
  sonde_et_text name;
  sonde_et_values inputs;
  sonde_et_values outputs;
  uint64_t record_function_id;
  uint64_t forward_parent;
  int64_t sequence_number;
  uint64_t scope;
  uint64_t thread;
  uint64_t forward_thread;
  sonde_et_text schema;
  sonde_et_text kernel_backend;
  sonde_et_text kernel_file;
  sonde_et_text more_attributes; /* JSON objects, separated by commas */
  sonde_et_text tensor_range;    /* JSON: the least and greatest values of integral inputs */
} sonde_et_node;

/* Does nothing if no execution trace is open. */
void sonde_et_write(const sonde_et_node* node);

/* The name of the file, while begin() runs. */
const char* sonde_et_path(void);

/* Passes `text` as a JSON string, with its quotes, to put(). */
void sonde_et_string(sonde_et_text text, void (*put)(void* to, sonde_et_text json), void* to);

typedef struct sonde_et_source {
  uint32_t size;       /* sizeof(sonde_et_source) when its library was built */
  void (*begin)(void); /* a new file: numbers begin again */
  /* For a job of several processes: PyTorch's JSON list of their groups; else "". */
  void (*start)(const char* process_groups);
  void (*stop)(void);
} sonde_et_source;

/* The struct must stay valid. Returns non-zero if there is another source, or if this Sonde does
 * not understand it. */
int sonde_add_et_source(const sonde_et_source* source);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
