// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/columns/table_chunks.h"

#include <algorithm>
#include <filesystem>

#include "base/new_file.h"
#include "base/utf8.h"

namespace sonde {
namespace {

ColumnType column_type(const Field& field) {
  switch (field.type) {
    case FieldType::Integer:
    case FieldType::Reference:
      return ColumnType::Int64;
    case FieldType::Real:
      return ColumnType::Double;
    default:
      return ColumnType::Text;
  }
}

// Readers of columns refuse texts that are not UTF-8. Bytes that are not become U+FFFD.
bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_sequence(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string mended(std::string_view text) {
  std::string whole;
  while (!text.empty()) {
    const std::size_t size = utf8_sequence(text);
    whole += size == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return whole;
}

ColumnValues ids(std::size_t first, std::size_t rows) {
  ColumnValues chunk;
  chunk.numbers.reserve(rows);
  for (std::size_t i = 0; i < rows; ++i)
    chunk.numbers.push_back(static_cast<std::int64_t>(first + i));
  return chunk;
}

}  // namespace

TableChunks::TableChunks(const Trace& trace, Relation table)
    : trace_(trace), table_(std::move(table)) {
  columns_.push_back({"id", ColumnType::Int64, false});
  for (const Field& field : table_.fields) {
    const ColumnType type = column_type(field);
    columns_.push_back(
        {std::string(field.name), type, field.has_null || type == ColumnType::Double});
  }
}

ChunkGroup TableChunks::read(std::size_t first) {
  ChunkGroup group;
  group.rows = std::min(kRowsOfGroup, table_.rows - first);
  raw_.resize(group.rows);
  group.chunks.push_back(ids(first, group.rows));
  for (const Field& field : table_.fields) group.chunks.push_back(read(field, first));
  return group;
}

ColumnValues TableChunks::read(const Field& field, std::size_t first) {
  ColumnValues chunk;
  const ColumnType type = column_type(field);
  if (field.has_null || type == ColumnType::Double) chunk.present.resize(raw_.size());
  if (type == ColumnType::Double) {
    read_reals(field, first, chunk);
    return chunk;
  }
  field.reader->copy(field.source, first, raw_.size(), raw_.data());
  if (type == ColumnType::Int64) {
    chunk.numbers.reserve(raw_.size());
    keep_present(field, chunk, [&](std::int64_t raw) { chunk.numbers.push_back(raw); });
  } else {
    read_texts(field, chunk);
  }
  return chunk;
}

template <typename Keep>
void TableChunks::keep_present(const Field& field, ColumnValues& chunk, Keep&& keep) const {
  for (std::size_t i = 0; i < raw_.size(); ++i) {
    if (field.is_null(raw_[i])) continue;
    if (field.has_null) chunk.present[i] = true;
    keep(raw_[i]);
  }
}

void TableChunks::read_reals(const Field& field, std::size_t first, ColumnValues& chunk) const {
  for (std::size_t i = 0; i < raw_.size(); ++i) {
    const double value = field.real(first + i);
    if (field.is_null_real(value)) continue;
    chunk.present[i] = true;
    chunk.reals.push_back(value);
  }
}

void TableChunks::read_texts(const Field& field, ColumnValues& chunk) {
  constexpr std::uint32_t kUnknown = ~0U;
  // Numbers of strings and enumerators are small and dense.
  std::vector<std::uint32_t> places;
  chunk.indices.reserve(raw_.size());
  keep_present(field, chunk, [&](std::int64_t raw) {
    const auto at = static_cast<std::size_t>(raw);
    if (at >= places.size()) places.resize(std::max(at + 1, 2 * places.size()), kUnknown);
    if (places[at] == kUnknown) {
      places[at] = static_cast<std::uint32_t>(chunk.texts.size());
      chunk.texts.push_back(text_of(field, raw));
    }
    chunk.indices.push_back(places[at]);
  });
}

std::string_view TableChunks::text_of(const Field& field, std::int64_t raw) {
  if (field.type == FieldType::Label) return field.reader->label(raw);
  const std::string_view text = trace_.string(StringId(static_cast<std::uint32_t>(raw)));
  if (is_utf8(text)) return text;
  return mended_.try_emplace(raw, mended(text)).first->second;
}

// Under another name until all of it is there.
Result<void> make_folder_whole(const std::string& path,
                               const std::function<Result<void>(const std::string&)>& write) {
  std::string folder = path;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  std::error_code error;
  if (std::filesystem::exists(folder, error))
    return Failure(ErrorCode::Invalid, folder + ": this exists; remove it or choose another name");
  const std::string hidden = folder + ".tmp" + random_digits();
  if (!std::filesystem::create_directory(hidden, error))
    return Failure(ErrorCode::Io, folder + ": cannot create the folder: " + error.message());
  Result<void> written = write(hidden);
  if (written) {
    std::filesystem::rename(hidden, folder, error);
    if (!error) return {};
    written = Failure(ErrorCode::Io, folder + ": cannot create the folder: " + error.message());
  }
  std::filesystem::remove_all(hidden, error);
  return written;
}

}  // namespace sonde
