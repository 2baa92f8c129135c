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
#include "sonde/result.h"

namespace sonde {

enum class ParquetType : std::uint8_t { Int64, Double, Text };

struct ParquetColumn {
  std::string name;
  ParquetType type = ParquetType::Int64;
  bool is_optional = false;  // values may be NULL
};

// The values of one column in one group of rows.
struct ParquetChunk {
  std::vector<std::int64_t> numbers;    // of Int64, without those that are NULL
  std::vector<double> reals;            // of Double, likewise
  std::vector<std::uint32_t> indices;   // of Text, likewise: places in `texts`
  std::vector<std::string_view> texts;  // each once
  std::vector<bool> present;            // for each row, if the column is optional
};

class ParquetWriter {
 public:
  static Result<ParquetWriter> create(const std::string& path, std::vector<ParquetColumn> columns);

  // One chunk for each column.
  Result<void> write_group(std::size_t rows, const std::vector<ParquetChunk>& chunks);
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

  ParquetWriter(OutputFile file, std::vector<ParquetColumn> columns)
      : file_(std::move(file)), columns_(std::move(columns)) {}
  Result<void> write(std::string_view bytes);
  Result<WrittenChunk> write_chunk(const ParquetColumn& column, std::size_t rows,
                                   const ParquetChunk& chunk);
  std::string metadata() const;

  OutputFile file_;
  std::vector<ParquetColumn> columns_;
  std::vector<Group> groups_;
  std::int64_t offset_ = 0;
};

}  // namespace sonde
