/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef SONDE_PYTHON_STACK_H
#define SONDE_PYTHON_STACK_H

/* Where a Python program is: for sources that record what Python code calls.
 *
 *   uint32_t stack = 0;
 *   if (sonde_python_stack(0, &stack)) sonde_op_place(stack, 0);
 *
 * Works in a process that runs CPython 3.9 to 3.13, of which Sonde needs neither headers nor
 * libraries. It reads the frames of the calling thread alone, so it may be called with or without
 * the interpreter's lock, and takes none. A stack that was seen before costs a few nanoseconds a
 * frame; a new one allocates. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Not 0 if the calling thread is one that Python knows. Then `stack` is the number of its stack,
 * for sonde_op_place (op.h), or 0 if no Python code runs on it or nothing records. The innermost
 * `skip` frames are left out. */
int sonde_python_stack(uint32_t skip, uint32_t* stack);

/* Where something was called from: the innermost frame, the instruction that it executes, and the
 * number of the stack. Zeros: nowhere. */
typedef struct sonde_python_place { /* NOLINT(readability-identifier-naming): a C name */
  const void* frame;
  uint64_t instruction;
  uint32_t stack;
} sonde_python_place;

/* The same for something within `around`, which has begun on this thread and not ended: the frames
 * below it cannot have changed, so that nothing is walked unless other Python code runs now.
 * `around` is what this function said of it; zeros if that is not known. */
int sonde_python_stack_within(const sonde_python_place* around, sonde_python_place* here);

/* The frames of the Python code that runs on the calling thread, innermost first, for sonde_stack
 * (op.h): at most `most`. Returns how many; 0 if nothing records. */
size_t sonde_python_frames(uint32_t* frames, size_t most);

/* Not 0 if the address is in the interpreter's own binary: natively, such frames are between
 * what Python code calls and what called it. */
int sonde_is_of_python(const void* address);

/* A number for where the calling thread is in Python code: the same for the same frames at the same
 * instructions. 0: no Python code runs on it. Works while nothing records. */
uint64_t sonde_python_call_place(void);

/* Not 0 if frames can be read in this process. */
int sonde_has_python(void);

#ifdef __cplusplus
}
#endif

#endif
