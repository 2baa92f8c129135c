// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writes a stream of Arrow's IPC format: 64-bit integers, doubles, and texts by a dictionary. The
// dictionaries grow with each group of rows: what is new is written before it.
//
//   SONDE_TRY(ArrowWriter file, ArrowWriter::create("spans.arrow", columns));
//   SONDE_TRY_VOID(file.write_group(rows, chunks));
//   SONDE_TRY_VOID(file.finish());

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/output_file.h"
#include "convert/columns/column_chunk.h"
#include "sonde/result.h"

namespace sonde {

class ArrowWriter {
 public:
  static Result<ArrowWriter> create(const std::string& path, std::vector<ColumnSpec> columns);

  // One chunk for each column. Texts must stay valid until the file is finished.
  Result<void> write_group(std::size_t rows, const std::vector<ColumnValues>& chunks);
  Result<void> finish();

 private:
  using Dictionary = std::unordered_map<std::string_view, std::int32_t>;

  ArrowWriter(OutputFile file, std::vector<ColumnSpec> columns)
      : file_(std::move(file)), columns_(std::move(columns)), dictionaries_(columns_.size()) {}
  Result<void> write_message(std::string metadata, std::string_view body);
  Result<void> write_new_texts(std::size_t column, const ColumnValues& chunk);
  Result<void> write_dictionary(std::size_t column, const std::vector<std::string_view>& added,
                                bool is_more);

  OutputFile file_;
  std::vector<ColumnSpec> columns_;
  std::vector<Dictionary> dictionaries_;
};

}  // namespace sonde
