/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef SONDE_SANDBOX_H
#define SONDE_SANDBOX_H

/* For a source that would start a thread, open a file or make a socket while it records: a sandbox
 * that the program has entered may end it for that.
 *
 *   if (!sonde_in_sandbox()) start_a_thread();
 *
 * Takes a few microseconds. From any thread, at any time. */

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the program has entered a seccomp filter since recording began. 0 where the system does
 * not say. */
int sonde_in_sandbox(void);

#ifdef __cplusplus
}
#endif

#endif
