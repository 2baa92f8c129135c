// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A table as Arrow's C stream (https://arrow.apache.org/docs/format/CStreamInterface.html), which
// pandas, polars, DuckDB and pyarrow read. Values are not copied. Only the null bits, the offsets
// of texts, and columns without any value are made here.

#include <cstdint>
#include <memory>

#include "columns.h"

// Defined as in Arrow's documentation.
extern "C" {
// NOLINTBEGIN(readability-identifier-naming): Arrow's names
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
// NOLINTEND(readability-identifier-naming)
}

namespace sonde::python {

// One batch with all rows. Call its `release`, then delete it.
ArrowArrayStream* make_arrow_stream(std::shared_ptr<const TableView> table);

}  // namespace sonde::python
