// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A folder with one Parquet file for each table of a trace.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "base/file.h"
#include "base/new_file.h"
#include "convert/columns/parquet_writer.h"
#include "sonde/export.h"
#include "trace/relation.h"

namespace sonde {
namespace {

constexpr std::size_t kRowsOfGroup = std::size_t{1} << 20U;

ParquetType parquet_type(const Field& field) {
  switch (field.type) {
    case FieldType::Integer:
    case FieldType::Reference:
      return ParquetType::Int64;
    case FieldType::Real:
      return ParquetType::Double;
    default:
      return ParquetType::Text;
  }
}

std::vector<ParquetColumn> columns_of(const Relation& table) {
  std::vector<ParquetColumn> columns = {{"id", ParquetType::Int64, false}};
  for (const Field& field : table.fields)
    columns.push_back({std::string(field.name), parquet_type(field), field.has_null});
  return columns;
}

class ChunkReader {
 public:
  ChunkReader(const Trace& trace, std::size_t first, std::size_t rows)
      : trace_(trace), first_(first), rows_(rows), raw_(rows) {}

  ParquetChunk ids() const {
    ParquetChunk chunk;
    for (std::size_t i = 0; i < rows_; ++i)
      chunk.numbers.push_back(static_cast<std::int64_t>(first_ + i));
    return chunk;
  }
  ParquetChunk read(const Field& field) {
    ParquetChunk chunk;
    if (field.has_null) chunk.present.resize(rows_);
    if (field.type == FieldType::Real) {
      read_reals(field, chunk);
      return chunk;
    }
    field.reader->copy(field.source, first_, rows_, raw_.data());
    if (parquet_type(field) == ParquetType::Int64) {
      keep_present(field, chunk, [&](std::int64_t raw) { chunk.numbers.push_back(raw); });
    } else {
      read_texts(field, chunk);
    }
    return chunk;
  }

 private:
  template <typename Keep>
  void keep_present(const Field& field, ParquetChunk& chunk, Keep&& keep) const {
    for (std::size_t i = 0; i < rows_; ++i) {
      if (field.is_null(raw_[i])) continue;
      if (field.has_null) chunk.present[i] = true;
      keep(raw_[i]);
    }
  }
  void read_reals(const Field& field, ParquetChunk& chunk) const {
    for (std::size_t i = 0; i < rows_; ++i) {
      const double value = field.real(first_ + i);
      if (field.has_null && value == static_cast<double>(field.null)) continue;
      if (field.has_null) chunk.present[i] = true;
      chunk.reals.push_back(value);
    }
  }
  void read_texts(const Field& field, ParquetChunk& chunk) const {
    std::unordered_map<std::int64_t, std::uint32_t> places;
    keep_present(field, chunk, [&](std::int64_t raw) {
      const auto [at, is_new] =
          places.try_emplace(raw, static_cast<std::uint32_t>(chunk.texts.size()));
      if (is_new) chunk.texts.push_back(text_of(field, raw));
      chunk.indices.push_back(at->second);
    });
  }
  std::string_view text_of(const Field& field, std::int64_t raw) const {
    return field.type == FieldType::Label
               ? field.reader->label(raw)
               : trace_.string(StringId(static_cast<std::uint32_t>(raw)));
  }

  const Trace& trace_;
  std::size_t first_;
  std::size_t rows_;
  std::vector<std::int64_t> raw_;
};

Result<void> write_table(const Trace& trace, const Relation& table, const std::string& path) {
  SONDE_TRY(ParquetWriter file, ParquetWriter::create(path, columns_of(table)));
  for (std::size_t first = 0; first < table.rows; first += kRowsOfGroup) {
    const std::size_t rows = std::min(kRowsOfGroup, table.rows - first);
    ChunkReader reader(trace, first, rows);
    std::vector<ParquetChunk> chunks = {reader.ids()};
    for (const Field& field : table.fields) chunks.push_back(reader.read(field));
    SONDE_TRY_VOID(file.write_group(rows, chunks));
  }
  return file.finish();
}

Result<void> write_tables(const Trace& trace, const std::string& folder) {
  for (const TableKind kind : all_tables()) {
    const Relation table = relation(trace, kind);
    SONDE_TRY_VOID(write_table(trace, table, folder + "/" + std::string(table.name) + ".parquet"));
  }
  return {};
}

}  // namespace

// Under another name until all of it is there.
Result<void> export_parquet(const Trace& trace, const std::string& path) {
  std::string folder = path;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  std::error_code error;
  if (std::filesystem::exists(folder, error))
    return Failure(ErrorCode::Invalid, folder + ": this exists; remove it or choose another name");
  const std::string hidden = folder + ".tmp" + random_digits();
  if (!std::filesystem::create_directory(hidden, error))
    return Failure(ErrorCode::Io, folder + ": cannot create the folder: " + error.message());
  Result<void> written = write_tables(trace, hidden);
  if (written) {
    std::filesystem::rename(hidden, folder, error);
    if (!error) return {};
    written = Failure(ErrorCode::Io, folder + ": cannot create the folder: " + error.message());
  }
  std::filesystem::remove_all(hidden, error);
  return written;
}

}  // namespace sonde
