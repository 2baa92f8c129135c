/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef SONDE_OP_H
#define SONDE_OP_H

/* Records operators of a tensor library, for sources that see it from inside. Programs mark
 * their work with sonde.h or record.h.
 *
 *   static const uint32_t mm = sonde_name("aten::mm", 8);   // once, while recording
 *   sonde_op op = {sizeof(op), mm, 0, -1, 0, 0};
 *   if (sonde_op_begin(&op)) {
 *     sonde_op_inputs(words, count);                         // made with op_inputs.h
 *     ...
 *     sonde_end();
 *   }
 *
 * As in sonde.h, all calls may be made from any thread at any time, never block, and do nothing
 * while no session records. The size at the beginning of each struct is its version, as in
 * device.h. */

#include <stddef.h>
#include <stdint.h>

#include "sonde/sonde.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of a name, the same for the life of the process; 0 while nothing records, or if
 * there are too many names. An operator's overload follows its name, after a byte 0x1f. */
uint32_t sonde_name(const char* text, size_t text_bytes);

/* A scope that PyTorch does not have: a call of a Python function. */
enum { SONDE_SCOPE_PYTHON_CALL = 254 }; /* NOLINT(readability-identifier-naming): a C name */

typedef struct sonde_op { /* NOLINT(readability-identifier-naming): a C name */
  uint32_t size;
  uint32_t name;           /* from sonde_name */
  uint8_t scope;           /* PyTorch's RecordScope: 0 function, 1 backward, 7 user, ... */
  int64_t sequence_number; /* -1: none */
  uint64_t forward_thread; /* for a gradient: the number of the thread that ran its operator */
  uint64_t record_function_id;
} sonde_op;

/* Begins an operator on this thread; 0 if it was not recorded. sonde_end ends it. */
int sonde_op_begin(const sonde_op* op);
/* The same for an operator that may end on another thread or out of order; sonde_range_end ends
 * it. */
sonde_range sonde_op_range_begin(const sonde_op* op);

/* For a source that is active while nothing records, in a child of fork() that is recorded only
 * when it does something. Afterwards sonde_is_recording says whether it is recorded. */
void sonde_op_missed(void);
/* Sets who begins to record then; null: nobody. Several threads may call the function at once. */
void sonde_when_missed(void (*begin)(void));

/* The arguments of the operator that this thread began last, packed by op_inputs.h. */
void sonde_op_inputs(const uint64_t* words, size_t word_count);

/* The identity of these tensors, to follow them through memory. */
typedef struct sonde_tensor { /* NOLINT(readability-identifier-naming): a C name */
  uint32_t size;              /* the same for all elements of an array */
  int32_t index;              /* among the arguments */
  int32_t element;            /* in a list of tensors; -1: not in a list */
  uint64_t tensor_address;
  uint64_t storage_address;
} sonde_tensor;
void sonde_op_tensors(const sonde_tensor* tensors, size_t count);

typedef struct sonde_allocation { /* NOLINT(readability-identifier-naming): a C name */
  uint32_t size;
  uint64_t address;
  int64_t bytes; /* negative for a free */
  int64_t total_allocated_bytes;
  int64_t total_reserved_bytes;
  uint8_t device_type; /* PyTorch's number of the DeviceType */
  uint8_t flags;       /* 1: it failed, out of memory */
  int32_t device_index;
} sonde_allocation;
void sonde_allocated(const sonde_allocation* allocation);

/* What the tensor in this storage is for, as the program itself says: `name` is that of the
 * parameter in its module, or of the state in its optimizer; it may be "". */
/* NOLINTBEGIN(readability-identifier-naming): C names */
enum { SONDE_TENSOR_PARAMETER = 1, SONDE_TENSOR_GRADIENT = 2, SONDE_TENSOR_OPTIMIZER_STATE = 3 };
/* NOLINTEND(readability-identifier-naming) */
void sonde_tensor_role(uint64_t storage_address, uint32_t purpose, const char* name);

/* Places in code, by numbers as in sonde_name. Make each once and keep it: making one takes a
 * lock and some microseconds. All texts may be "". */
uint32_t sonde_frame(const char* function, const char* file, uint32_t line);
/* The same for Python code; python_stack.h finds them. */
uint32_t sonde_python_frame(const char* function, const char* file, uint32_t line);
/* The instruction after a call: `offset` counts from where the binary's addresses begin. Names
 * and lines are found when the trace is opened, in the binary with this build id (hexadecimal
 * digits). */
uint32_t sonde_native_frame(const char* binary, const char* build_id, uint64_t offset);
/* Frames, innermost first; at most 256. */
uint32_t sonde_stack(const uint32_t* frames, size_t count);
/* A part of a network: `parent` is the one around it; 0 if there is none. */
uint32_t sonde_module(uint32_t parent, const char* name, const char* class_name,
                      const char* method);

/* Where the operator or range that this thread began last was called from, and the module that
 * it is or belongs to; 0: unknown. Everything inside it, and the gradients of that, belong to it
 * too. */
void sonde_op_place(uint32_t stack, uint32_t module);

/* Steps of the program. Whoever recognises that a step ends says so on the thread that iterates:
 * how many have ended since the last call, and by which rule it knows. None: this rule is going to
 * tell. The listener, one per process, is called before this returns; null: nobody wants to know.
 */
void sonde_steps_ended(const char* rule, uint32_t count);
int sonde_wants_steps(void);
void sonde_when_steps_end(void (*listener)(const char* rule, uint32_t count));

/* What recording one event of a path ("operators", "inputs of operators") costs the program, in
 * picoseconds, for the trace's ledger. What was told last counts. Keep to few paths: each is a
 * name. */
void sonde_path_cost(const char* path, uint64_t picoseconds);

/* The tensor library's number of this thread. */
void sonde_thread_is(uint64_t logical_number);

#ifdef __cplusplus
}
#endif

#endif
