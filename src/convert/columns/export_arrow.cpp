// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A folder with one stream of Arrow's for each table of a trace.

#include "convert/columns/arrow_writer.h"
#include "convert/columns/table_chunks.h"
#include "sonde/export.h"

namespace sonde {
namespace {

Result<void> write_arrow_table(const Trace& trace, TableKind kind, const std::string& folder) {
  Relation table = relation(trace, kind);
  const std::string path = folder + "/" + std::string(table.name) + ".arrow";
  TableChunks chunks(trace, std::move(table));
  SONDE_TRY(ArrowWriter file, ArrowWriter::create(path, chunks.columns()));
  for (std::size_t first = 0; first < chunks.rows(); first += kRowsOfGroup) {
    const ChunkGroup group = chunks.read(first);
    SONDE_TRY_VOID(file.write_group(group.rows, group.chunks));
  }
  return file.finish();
}

}  // namespace

Result<void> export_arrow(const Trace& trace, const std::string& folder) {
  return make_folder_whole(folder, [&](const std::string& hidden) -> Result<void> {
    for (const TableKind kind : all_tables())
      SONDE_TRY_VOID(write_arrow_table(trace, kind, hidden));
    return {};
  });
}

}  // namespace sonde
