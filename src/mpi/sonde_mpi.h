/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#pragma once

/* What the program asks of the library that talks to MPI. Everything is sent to process 0. All
   calls come from one thread. A call that waits gives up after `timeout_s` without progress. */

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_MPI_VERSION 1

/* Of this library, for the program to compare. */
int sonde_mpi_version(void);
/* 0, and which of how many processes this is; else MPI could not be started. */
int sonde_mpi_start(int* process, int* processes);
/* To process 0: 0 once it has everything, 1 after the timeout. */
int sonde_mpi_send(const unsigned char* bytes, unsigned long size, double timeout_s);
/* In process 0: the next message, from any process; 1 after the timeout. *bytes is the caller's to
   free(). */
int sonde_mpi_receive(int* from, unsigned char** bytes, unsigned long* size, double timeout_s);
/* Ends MPI. If the others do not answer, the process goes on after the timeout. */
void sonde_mpi_finish(double timeout_s);
/* Ends all processes of the job; does not return. */
void sonde_mpi_abort(int status);

#ifdef __cplusplus
}
#endif
