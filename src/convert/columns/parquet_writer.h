// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writes Parquet files of 64-bit integers, doubles and texts, compressed with zstd. Texts are
// stored once for each group of rows, and referred to by number.
//
//   SONDE_TRY(ParquetWriter file, ParquetWriter::create("spans.parquet", columns));
//   SONDE_TRY_VOID(file.write_group(rows, chunks));
//   SONDE_TRY_VOID(file.finish());

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/output_file.h"
#include "convert/columns/column_chunk.h"
#include "sonde/result.h"

namespace sonde {

class ParquetWriter {
 public:
  static Result<ParquetWriter> create(const std::string& path, std::vector<ColumnSpec> columns);

  // One chunk for each column.
  Result<void> write_group(std::size_t rows, const std::vector<ColumnValues>& chunks);
  Result<void> finish();

 private:
  struct WrittenChunk {
    std::int64_t data_offset = 0;
    std::int64_t dictionary_offset = -1;
    std::int64_t uncompressed = 0;
    std::int64_t compressed = 0;
  };
  struct Group {
    std::size_t rows = 0;
    std::vector<WrittenChunk> chunks;
  };

  ParquetWriter(OutputFile file, std::vector<ColumnSpec> columns)
      : file_(std::move(file)), columns_(std::move(columns)) {}
  Result<void> write(std::string_view bytes);
  Result<WrittenChunk> write_chunk(const ColumnSpec& column, std::size_t rows,
                                   const ColumnValues& chunk);
  std::string metadata() const;

  OutputFile file_;
  std::vector<ColumnSpec> columns_;
  std::vector<Group> groups_;
  std::int64_t offset_ = 0;
};

}  // namespace sonde
