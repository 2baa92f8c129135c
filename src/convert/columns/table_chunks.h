// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The tables of a trace in groups of rows, for writers of columns.
//
//   TableChunks chunks(trace, relation(trace, TableKind::Spans));
//   for (std::size_t first = 0; first < chunks.rows(); first += kRowsOfGroup)
//     write(chunks.read(first));

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "convert/columns/column_chunk.h"
#include "sonde/result.h"
#include "trace/relation.h"

namespace sonde {

inline constexpr std::size_t kRowsOfGroup = std::size_t{1} << 20U;

struct ChunkGroup {
  std::size_t rows = 0;
  std::vector<ColumnValues> chunks;  // one for each column
};

// Texts of a group are valid as long as this, and the trace.
class TableChunks {
 public:
  TableChunks(const Trace& trace, Relation table);

  std::size_t rows() const { return table_.rows; }
  const std::vector<ColumnSpec>& columns() const { return columns_; }
  // At most kRowsOfGroup rows from `first` on.
  ChunkGroup read(std::size_t first);

 private:
  ColumnValues read(const Field& field, std::size_t first);
  void read_reals(const Field& field, std::size_t first, ColumnValues& chunk) const;
  void read_texts(const Field& field, ColumnValues& chunk);
  std::string_view text_of(const Field& field, std::int64_t raw);
  template <typename Keep>
  void keep_present(const Field& field, ColumnValues& chunk, Keep&& keep) const;

  const Trace& trace_;
  Relation table_;
  std::vector<ColumnSpec> columns_;
  std::vector<std::int64_t> raw_;
  // Texts that are not UTF-8, as they are written instead.
  std::unordered_map<std::int64_t, std::string> mended_;
};

// A folder that appears when `write` has filled it, or not at all. It must not exist yet.
Result<void> make_folder_whole(const std::string& path,
                               const std::function<Result<void>(const std::string&)>& write);

}  // namespace sonde
