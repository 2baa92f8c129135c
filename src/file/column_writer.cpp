// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <functional>
#include <thread>

#include "base/parallel.h"
#include "file/column_codec.h"
#include "file/trace_file.h"

namespace sonde {

namespace {

// Makes one block, on any thread.
using Job = std::function<EncodedBlock()>;

// `values` returns a pointer to `rows` elements from `first_row` on; it may use `scratch`.
template <typename Values>
void add_jobs(std::vector<Job>& jobs, ColumnChunk chunk, Values values) {
  for (std::uint64_t first = 0; first < chunk.table_rows; first += kRowsPerBlock) {
    chunk.first_row = first;
    chunk.rows = std::min<std::uint64_t>(kRowsPerBlock, chunk.table_rows - first);
    jobs.push_back([chunk, values] {
      std::vector<std::uint8_t> scratch;
      const void* data = values(static_cast<std::size_t>(chunk.first_row),
                                static_cast<std::size_t>(chunk.rows), scratch);
      return encode_block(BlockKind::Columns, encode_chunk(chunk, data), true);
    });
  }
}

template <typename T>
void add_column(std::vector<Job>& jobs, const char* table, const char* name,
                const Column<T>& column) {
  const ColumnChunk chunk{table, name, element_type<T>(), column.size(), 0, 0};
  add_jobs(jobs, chunk,
           [&column](std::size_t first, std::size_t rows, std::vector<std::uint8_t>& scratch) {
             if (column.materialised() && !column.packs())
               return static_cast<const void*>(column.data() + first);
             scratch.resize(rows * sizeof(T));
             for (std::size_t i = 0; i < rows; ++i) {
               const T value = column[first + i];
               std::memcpy(scratch.data() + i * sizeof(T), &value, sizeof(T));
             }
             return static_cast<const void*>(scratch.data());
           });
}

// Leaves out columns that are all null, except the first of a table, which gives the number of
// rows. Leaves out derived columns too: they are computed when the trace is built.
void add_table(std::vector<Job>& jobs, const char* table_name, const auto& table) {
  bool is_first = true;
  table.visit_columns([&](const char* name, const auto& column) {
    const bool is_stored = column.materialised() && !is_derived(table.kTable, name);
    if (is_first || is_stored) add_column(jobs, table_name, name, column);
    is_first = false;
  });
}

Result<void> run(const std::vector<Job>& jobs, BlockWriter& writer) {
  // Few at a time, so that a large trace is not in memory twice.
  const std::size_t at_once =
      std::max<std::size_t>(4, std::size_t{2} * std::thread::hardware_concurrency());
  for (std::size_t first = 0; first < jobs.size(); first += at_once) {
    std::vector<EncodedBlock> blocks(std::min(at_once, jobs.size() - first));
    parallel_for(blocks.size(), [&](std::size_t i) { blocks[i] = jobs[first + i](); });
    for (const EncodedBlock& block : blocks) SONDE_TRY_VOID(writer.append(block));
  }
  return {};
}

}  // namespace

Result<void> write_columns(BlockWriter& writer, const Trace& trace) {
  std::vector<Job> jobs;
  // Strings are two tables. They come first, because a reader needs them for all others.
  Column<std::uint64_t> ends;
  Column<std::uint8_t> bytes;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < trace.strings().size(); ++i) {
    const std::string_view text = trace.string(StringId(i));
    end += text.size();
    ends.push_back(end);
    bytes.append(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  add_column(jobs, "strings", "end", ends);
  add_column(jobs, "string_bytes", "byte", bytes);
  trace.tables().visit_tables(
      [&jobs](const char* name, const auto& table) { add_table(jobs, name, table); });
  return run(jobs, writer);
}

}  // namespace sonde
