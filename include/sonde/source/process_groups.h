/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef SONDE_PROCESS_GROUPS_H
#define SONDE_PROCESS_GROUPS_H

/* Which process groups a Python program has made with torch.distributed: for a source that sees
 * one being used.
 *
 *   sonde_process_groups_used();
 *
 * Asks the interpreter to list them soon, on its main thread, and records the list as the trace's
 * metadata `distributedInfo`, as torch.profiler does. Costs a few nanoseconds if it was asked
 * already, and nothing happens in a process without Python. From any thread, at any time. */

#ifdef __cplusplus
extern "C" {
#endif

void sonde_process_groups_used(void);

#ifdef __cplusplus
}
#endif

#endif
