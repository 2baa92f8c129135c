/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef SONDE_DEVICE_H
#define SONDE_DEVICE_H

/* Records the work of devices, for sources between a program and its GPU. A call that gives work
 * to a device is a span of the calling thread, and the work itself is a span of the device's
 * stream. Both have the same correlation number, which joins the work to every operator, scope
 * and module around the call.
 *
 *   const sonde_api_call call = {sizeof(call), launch_name, SONDE_SPAN_CUDA_RUNTIME, 211,
 *                                correlation};
 *   if (sonde_api_begin(&call)) ...                       // where the program calls
 *   sonde_end();
 *
 *   sonde_device_span span = {sizeof(span), kernel_name, SONDE_SPAN_KERNEL, SONDE_DEVICE_CUDA, 0,
 *                             start, took, stream, context, correlation};
 *   sonde_kernel_ran(&span, &launch);                     // any time later, on any thread
 *
 * As in sonde.h, all calls may be made from any thread at any time, never block, and do nothing
 * while no session records. Names are numbers from sonde_name (op.h).
 *
 * The size at the beginning of each struct is its version: structs only grow at their end.
 * Fields that the caller's struct does not have count as unknown, and fields that this Sonde
 * does not know are ignored. A struct that is too small, such as one whose size was left 0, is
 * not recorded. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using): C names */

/* The trace's numbers of SpanKind. */
enum {
  SONDE_SPAN_CUDA_RUNTIME = 5,
  SONDE_SPAN_CUDA_DRIVER = 6,
  SONDE_SPAN_KERNEL = 7,
  SONDE_SPAN_COPY = 8,
  SONDE_SPAN_FILL = 9,
  SONDE_SPAN_SYNC = 11,
  SONDE_SPAN_EVENT = 12,
  SONDE_SPAN_OVERHEAD = 13,
  SONDE_SPAN_PRIVATEUSE1_RUNTIME = 30,
  SONDE_SPAN_PRIVATEUSE1_DRIVER = 31
};

/* PyTorch's numbers of DeviceType. */
enum { SONDE_DEVICE_CUDA = 1, SONDE_DEVICE_OPENCL = 4, SONDE_DEVICE_PRIVATEUSE1 = 20 };

#define SONDE_NO_STREAM 0xffffffffu

typedef struct sonde_api_call {
  uint32_t size;
  uint32_t name;
  uint8_t kind;         /* one of the runtimes and drivers above */
  uint32_t callback_id; /* the interface's own number of the function; 24 bits are kept */
  uint64_t correlation; /* unique among the calls of the device type, from 1 on; 0: none */
} sonde_api_call;

/* A new number for a call and everything that it launches, for interfaces that have none of
 * their own. CUDA's numbers never get this large. */
uint64_t sonde_correlation_new(void);

/* Begins a call on this thread; 0 if it was not recorded. sonde_end ends it. */
int sonde_api_begin(const sonde_api_call* call);

typedef struct sonde_device_span {
  uint32_t size;
  uint32_t name;
  uint8_t kind;
  uint8_t device_type;
  int16_t device_index;
  int64_t start_ns; /* since the Unix epoch, on CLOCK_REALTIME */
  int64_t duration_ns;
  uint32_t stream; /* or queue; SONDE_NO_STREAM: the device as a whole */
  uint32_t context;
  uint64_t correlation; /* of the call behind it */
} sonde_device_span;

/* Work about which no more is known. */
void sonde_device_ran(const sonde_device_span* span);

typedef struct sonde_kernel {
  uint32_t size;
  uint32_t grid[3];
  uint32_t block[3];
  uint16_t cluster[3];           /* 0: none */
  uint16_t registers_per_thread; /* 0: unknown */
  uint32_t static_shared_bytes;
  uint32_t dynamic_shared_bytes;
  uint32_t local_bytes_per_thread;
  uint32_t graph_id; /* the graph that was launched as a whole; 0: none */
  uint64_t graph_node_id;
  int16_t priority;     /* INT16_MIN: unknown */
  int64_t queued_ns;    /* when it was put into the queue; 0: unknown */
  int64_t submitted_ns; /* when it was passed to the device; 0: unknown */
} sonde_kernel;
void sonde_kernel_ran(const sonde_device_span* span, const sonde_kernel* kernel);

/* kind: the trace's number of the CopyKind, some of which are here. source and destination: its
 * number of the MemoryKind. */
enum {
  SONDE_COPY_UNKNOWN = 0,
  SONDE_COPY_HTOD = 1,
  SONDE_COPY_DTOH = 2,
  SONDE_COPY_DTOD = 8,
  SONDE_COPY_FILL = 11
};
typedef struct sonde_copy {
  uint32_t size;
  uint64_t bytes;
  uint8_t kind;
  uint8_t source_kind;
  uint8_t destination_kind;
  int16_t source_device; /* for copies between devices, else -1 */
  int16_t destination_device;
  uint32_t value; /* for a fill */
  uint32_t graph_id;
  uint64_t graph_node_id;
  uint32_t source_context;
  uint32_t destination_context;
} sonde_copy;
void sonde_copy_ran(const sonde_device_span* span, const sonde_copy* copy);

/* A wait, or an event that was recorded on a stream. kind: the trace's number of the SyncKind. */
typedef struct sonde_sync {
  uint32_t size;
  uint8_t kind;
  uint32_t event_id;            /* 0xffffffff: none */
  uint32_t wait_on_stream;      /* where the event was recorded; SONDE_NO_STREAM: unknown */
  uint64_t wait_on_correlation; /* of the call that recorded it; 0: unknown */
} sonde_sync;
void sonde_sync_ran(const sonde_device_span* span, const sonde_sync* sync);

/* Memory that a device's interface gave to the program or took back. If the allocator of a
 * tensor library reports the same device (op.h), its reports are used and this is left out of
 * the trace. memory_kind: the trace's number of the MemoryKind, some of which are here. */
enum { SONDE_MEMORY_PINNED = 2, SONDE_MEMORY_DEVICE = 3, SONDE_MEMORY_MANAGED = 5 };
typedef struct sonde_device_allocation {
  uint32_t size;
  int64_t time_ns; /* as in sonde_device_span */
  uint64_t address;
  int64_t bytes; /* negative for a free */
  uint8_t device_type;
  uint8_t memory_kind;
  int16_t device_index;
  uint64_t correlation; /* of the call behind it */
} sonde_device_allocation;
void sonde_device_allocated(const sonde_device_allocation* allocation);

/* The innermost span of this thread put a node into a graph of work, or copied it from another
 * node (0: not a copy). Work that the graph runs later names its node, and is joined to the span
 * that made it. */
void sonde_graph_node(uint64_t node_id, uint64_t copied_from);

/* A device. 0 means unknown. */
typedef struct sonde_device_properties {
  uint32_t size;
  uint32_t name;
  uint8_t type;
  int16_t index;
  uint64_t total_memory_bytes;
  uint32_t compute_major;
  uint32_t compute_minor;
  uint32_t multiprocessors;
  uint32_t warp_size;
  uint32_t max_threads_per_block;
  uint32_t max_threads_per_multiprocessor;
  uint32_t registers_per_block;
  uint32_t registers_per_multiprocessor;
  uint32_t shared_bytes_per_block;
  uint32_t shared_bytes_per_block_optin;
  uint32_t shared_bytes_per_multiprocessor;
  uint32_t clock_khz;
  uint32_t memory_clock_khz;
  uint32_t memory_bus_bits;
} sonde_device_properties;
void sonde_device_is(const sonde_device_properties* device);

/* A fact for the trace's metadata, as numbers from sonde_name; `json` is JSON text. If the
 * session sets the same key, its value wins. */
void sonde_metadata_is(uint32_t key, uint32_t json);

/* Something that a source knows to be missing, for the ledger of the trace. kind: the trace's
 * number of the LedgerKind. `name` is the text. Counts of the same kind and text are added up;
 * for clock errors the largest counts, for costs the last. */
enum {
  SONDE_LOST_NOTE = 0,
  SONDE_LOST_DROPPED = 2,
  SONDE_LOST_UNFINISHED = 5,
  SONDE_LOST_UNDECODABLE = 9,
  SONDE_LOST_CLOCK_ERROR_NS = 12,
  SONDE_LOST_EVENT_COST_PS = 14, /* the text is the path: sonde_path_cost() of op.h */
  SONDE_LOST_SOURCE_FAILED = 17
};
void sonde_lost(uint8_t kind, uint32_t name, uint64_t count);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
