// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/columns/parquet_writer.h"

#include <zstd.h>

#include <bit>
#include <cstring>

#include "convert/columns/thrift_writer.h"

namespace sonde {
namespace {

using Type = ThriftWriter::Type;

// Numbers of the format.
constexpr std::int32_t kInt64 = 2;
constexpr std::int32_t kDouble = 5;
constexpr std::int32_t kByteArray = 6;
constexpr std::int32_t kUtf8 = 0;
constexpr std::int32_t kPlain = 0;
constexpr std::int32_t kRle = 3;
constexpr std::int32_t kRleDictionary = 8;
constexpr std::int32_t kZstd = 6;
constexpr std::int32_t kDataPage = 0;
constexpr std::int32_t kDictionaryPage = 2;
constexpr std::string_view kMagic = "PAR1";

std::int32_t physical_type(ColumnType type) {
  switch (type) {
    case ColumnType::Int64:
      return kInt64;
    case ColumnType::Double:
      return kDouble;
    case ColumnType::Text:
      return kByteArray;
  }
  return kInt64;
}

template <typename T>
void append_raw(std::string& out, const T* values, std::size_t count) {
  static_assert(std::endian::native == std::endian::little);
  out.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7U) out += static_cast<char>(value | 128U);
  out += static_cast<char>(value);
}

std::string compressed(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  constexpr int kFast = 1;
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kFast));
  return out;
}

// Numbers of `width` bits, eight at a time, as one run.
template <typename Values>
void append_packed(std::string& out, std::size_t count, unsigned width, const Values& values) {
  const std::size_t groups = (count + 7) / 8;
  append_varint(out, groups << 1U | 1U);
  std::uint64_t bits = 0;
  unsigned filled = 0;
  for (std::size_t i = 0; i < groups * 8; ++i) {
    bits |= (i < count ? std::uint64_t{values[i]} : 0) << filled;
    for (filled += width; filled >= 8; filled -= 8, bits >>= 8U) out += static_cast<char>(bits);
  }
}

// Which rows have a value: four bytes of length, then a run.
void append_presence(std::string& out, const std::vector<bool>& present, bool has_nulls) {
  std::string levels;
  if (has_nulls) {
    append_packed(levels, present.size(), 1, present);
  } else {
    append_varint(levels, present.size() << 1U);
    levels += '\1';
  }
  const auto size = static_cast<std::uint32_t>(levels.size());
  append_raw(out, &size, 1);
  out += levels;
}

std::string dictionary_page(const std::vector<std::string_view>& texts) {
  std::string page;
  for (const std::string_view text : texts) {
    const auto size = static_cast<std::uint32_t>(text.size());
    append_raw(page, &size, 1);
    page += text;
  }
  return page;
}

void append_values(std::string& page, ColumnType type, const ColumnValues& chunk) {
  if (type == ColumnType::Int64)
    return append_raw(page, chunk.numbers.data(), chunk.numbers.size());
  if (type == ColumnType::Double) return append_raw(page, chunk.reals.data(), chunk.reals.size());
  const auto last = static_cast<std::uint32_t>(chunk.texts.empty() ? 0 : chunk.texts.size() - 1);
  const auto width = static_cast<unsigned>(std::max(1, static_cast<int>(std::bit_width(last))));
  page += static_cast<char>(width);
  append_packed(page, chunk.indices.size(), width, chunk.indices);
}

std::size_t value_count(ColumnType type, const ColumnValues& chunk) {
  if (type == ColumnType::Int64) return chunk.numbers.size();
  return type == ColumnType::Double ? chunk.reals.size() : chunk.indices.size();
}

std::string page_header(std::int32_t kind, std::size_t size, std::size_t packed, std::size_t values,
                        std::int32_t encoding) {
  ThriftWriter header;
  header.int32(1, kind);
  header.int32(2, static_cast<std::int32_t>(size));
  header.int32(3, static_cast<std::int32_t>(packed));
  header.begin(kind == kDictionaryPage ? 7 : 5);
  header.int32(1, static_cast<std::int32_t>(values));
  header.int32(2, encoding);
  if (kind == kDataPage) {
    header.int32(3, kRle);
    header.int32(4, kRle);
  }
  header.end();
  return header.take();
}

}  // namespace

Result<ParquetWriter> ParquetWriter::create(const std::string& path,
                                            std::vector<ColumnSpec> columns) {
  SONDE_TRY(OutputFile file, OutputFile::create(path));
  ParquetWriter writer(std::move(file), std::move(columns));
  SONDE_TRY_VOID(writer.write(kMagic));
  return writer;
}

Result<void> ParquetWriter::write(std::string_view bytes) {
  offset_ += static_cast<std::int64_t>(bytes.size());
  return file_.append(bytes);
}

Result<ParquetWriter::WrittenChunk> ParquetWriter::write_chunk(const ColumnSpec& column,
                                                               std::size_t rows,
                                                               const ColumnValues& chunk) {
  WrittenChunk written;
  const std::int64_t begin = offset_;
  const auto write_page = [&](std::int32_t kind, const std::string& page, std::size_t values,
                              std::int32_t encoding) -> Result<void> {
    const std::string packed = compressed(page);
    const std::string header = page_header(kind, page.size(), packed.size(), values, encoding);
    written.uncompressed += static_cast<std::int64_t>(header.size() + page.size());
    SONDE_TRY_VOID(write(header));
    return write(packed);
  };
  if (column.type == ColumnType::Text) {
    written.dictionary_offset = offset_;
    SONDE_TRY_VOID(
        write_page(kDictionaryPage, dictionary_page(chunk.texts), chunk.texts.size(), kPlain));
  }
  std::string page;
  if (column.is_optional)
    append_presence(page, chunk.present, value_count(column.type, chunk) != rows);
  append_values(page, column.type, chunk);
  written.data_offset = offset_;
  SONDE_TRY_VOID(
      write_page(kDataPage, page, rows, column.type == ColumnType::Text ? kRleDictionary : kPlain));
  written.compressed = offset_ - begin;
  return written;
}

Result<void> ParquetWriter::write_group(std::size_t rows, const std::vector<ColumnValues>& chunks) {
  Group group{rows, {}};
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    SONDE_TRY(const WrittenChunk written, write_chunk(columns_[i], rows, chunks[i]));
    group.chunks.push_back(written);
  }
  groups_.push_back(std::move(group));
  return {};
}

std::string ParquetWriter::metadata() const {
  ThriftWriter out;
  std::size_t all_rows = 0;
  for (const Group& group : groups_) all_rows += group.rows;
  out.int32(1, 2);
  out.list(2, columns_.size() + 1, Type::Struct);
  out.begin();
  out.text(4, "schema");
  out.int32(5, static_cast<std::int32_t>(columns_.size()));
  out.end();
  for (const ColumnSpec& column : columns_) {
    out.begin();
    out.int32(1, physical_type(column.type));
    out.int32(3, column.is_optional ? 1 : 0);
    out.text(4, column.name);
    if (column.type == ColumnType::Text) out.int32(6, kUtf8);
    out.end();
  }
  out.int64(3, static_cast<std::int64_t>(all_rows));
  out.list(4, groups_.size(), Type::Struct);
  for (const Group& group : groups_) {
    std::int64_t bytes = 0;
    out.begin();
    out.list(1, columns_.size(), Type::Struct);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const WrittenChunk& chunk = group.chunks[i];
      const bool is_text = columns_[i].type == ColumnType::Text;
      bytes += chunk.uncompressed;
      out.begin();
      out.int64(2, is_text ? chunk.dictionary_offset : chunk.data_offset);
      out.begin(3);
      out.int32(1, physical_type(columns_[i].type));
      out.list(2, is_text ? 3 : 2, Type::Int32);
      out.bare_int32(kPlain);
      out.bare_int32(kRle);
      if (is_text) out.bare_int32(kRleDictionary);
      out.list(3, 1, Type::Text);
      out.bare_text(columns_[i].name);
      out.int32(4, kZstd);
      out.int64(5, static_cast<std::int64_t>(group.rows));
      out.int64(6, chunk.uncompressed);
      out.int64(7, chunk.compressed);
      out.int64(9, chunk.data_offset);
      if (is_text) out.int64(11, chunk.dictionary_offset);
      out.end();
      out.end();
    }
    out.int64(2, bytes);
    out.int64(3, static_cast<std::int64_t>(group.rows));
    out.end();
  }
  out.text(6, "Sonde");
  return out.take();
}

Result<void> ParquetWriter::finish() {
  const std::string footer = metadata();
  SONDE_TRY_VOID(write(footer));
  std::string tail;
  const auto size = static_cast<std::uint32_t>(footer.size());
  append_raw(tail, &size, 1);
  tail += kMagic;
  SONDE_TRY_VOID(write(tail));
  return file_.commit();
}

}  // namespace sonde
