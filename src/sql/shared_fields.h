// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The columns that every table has: `id` first, `file` and `rank` last.

#include "sql/table.h"
#include "trace/relation.h"

namespace sonde::sql {

// The row's own number; `table` is None for a computed one.
Field id_field(TableKind table);

// `file` and `rank`, unless the table has one of its own. `made` says which process a row is of.
void add_shared_fields(Source& source, Part& part, const Relation& made);

}  // namespace sonde::sql
