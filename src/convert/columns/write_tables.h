// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A folder with one file of columns for each table of a trace, whatever the format of the files.
//
//   SONDE_TRY_VOID(write_tables<ParquetWriter>(trace, folder, ".parquet"));

#include <string>
#include <utility>

#include "convert/columns/table_chunks.h"

namespace sonde {

template <typename Writer>
Result<void> write_table(const Trace& trace, TableKind kind, const std::string& folder,
                         const std::string& suffix) {
  Relation table = relation(trace, kind);
  const std::string path = folder + "/" + std::string(table.name) + suffix;
  TableChunks chunks(trace, std::move(table));
  SONDE_TRY(Writer file, Writer::create(path, chunks.columns()));
  for (std::size_t first = 0; first < chunks.rows(); first += kRowsOfGroup) {
    const ChunkGroup group = chunks.read(first);
    SONDE_TRY_VOID(file.write_group(group.rows, group.chunks));
  }
  return file.finish();
}

// The folder must exist.
template <typename Writer>
Result<void> write_tables(const Trace& trace, const std::string& folder,
                          const std::string& suffix) {
  for (const TableKind kind : all_tables())
    SONDE_TRY_VOID(write_table<Writer>(trace, kind, folder, suffix));
  return {};
}

}  // namespace sonde
