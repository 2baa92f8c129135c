// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/columns/arrow_writer.h"

#include <bit>

#include "convert/columns/flat_buffer.h"

namespace sonde {
namespace {

// Numbers of the format.
constexpr std::int16_t kArrowVersion5 = 4;
constexpr std::uint8_t kArrowSchema = 1;
constexpr std::uint8_t kArrowDictionaryBatch = 2;
constexpr std::uint8_t kArrowRecordBatch = 3;
constexpr std::uint8_t kArrowInt = 2;
constexpr std::uint8_t kArrowFloatingPoint = 3;
constexpr std::uint8_t kArrowUtf8 = 5;
constexpr std::int16_t kArrowDouble = 2;
constexpr std::uint32_t kArrowBeforeMessage = 0xffff'ffff;

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

template <typename T>
void append_bytes(std::string& out, const T* values, std::size_t count) {
  static_assert(std::endian::native == std::endian::little);
  out.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

std::string message(FlatBuffer& out, std::uint8_t kind, FlatBuffer::Place header,
                    std::size_t body_bytes) {
  return out.finish(out.table({FlatBuffer::value(0, kArrowVersion5), FlatBuffer::value(1, kind),
                               FlatBuffer::refers(2, header),
                               FlatBuffer::value(3, static_cast<std::int64_t>(body_bytes))}));
}

FlatBuffer::Place int_type(FlatBuffer& out, std::int32_t bits) {
  return out.table({FlatBuffer::value(0, bits), FlatBuffer::value(1, true)});
}

FlatBuffer::Place field(FlatBuffer& out, const ColumnSpec& column, std::size_t number) {
  const FlatBuffer::Place name = out.text(column.name);
  const FlatBuffer::Place children = out.list({});
  std::vector<FlatBuffer::Slot> slots = {FlatBuffer::refers(0, name),
                                         FlatBuffer::value(1, column.is_optional),
                                         FlatBuffer::refers(5, children)};
  switch (column.type) {
    case ColumnType::Int64:
      slots.push_back(FlatBuffer::value(2, kArrowInt));
      slots.push_back(FlatBuffer::refers(3, int_type(out, 64)));
      break;
    case ColumnType::Double:
      slots.push_back(FlatBuffer::value(2, kArrowFloatingPoint));
      slots.push_back(FlatBuffer::refers(3, out.table({FlatBuffer::value(0, kArrowDouble)})));
      break;
    case ColumnType::Text:
      slots.push_back(FlatBuffer::value(2, kArrowUtf8));
      slots.push_back(FlatBuffer::refers(3, out.table({})));
      slots.push_back(FlatBuffer::refers(
          4, out.table({FlatBuffer::value(0, static_cast<std::int64_t>(number)),
                        FlatBuffer::refers(1, int_type(out, 32)), FlatBuffer::value(2, false)})));
      break;
  }
  return out.table(std::move(slots));
}

std::string schema_message(const std::vector<ColumnSpec>& columns) {
  FlatBuffer out;
  std::vector<FlatBuffer::Place> fields;
  fields.reserve(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) fields.push_back(field(out, columns[i], i));
  const FlatBuffer::Place list = out.list(fields);
  const FlatBuffer::Place schema =
      out.table({FlatBuffer::value(0, std::int16_t{0}), FlatBuffer::refers(1, list)});
  return message(out, kArrowSchema, schema, 0);
}

// The buffers of a batch, one after the other, each at a multiple of eight bytes.
class Body {
 public:
  void add(std::string_view bytes) {
    buffers_.emplace_back(static_cast<std::int64_t>(bytes_.size()),
                          static_cast<std::int64_t>(bytes.size()));
    bytes_ += bytes;
    bytes_.resize((bytes_.size() + 7) / 8 * 8, '\0');
  }
  const Pairs& buffers() const { return buffers_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  Pairs buffers_;
};

FlatBuffer::Place batch(FlatBuffer& out, std::size_t rows, const Pairs& nodes, const Body& body) {
  const FlatBuffer::Place node_list = out.pairs(nodes);
  const FlatBuffer::Place buffer_list = out.pairs(body.buffers());
  return out.table({FlatBuffer::value(0, static_cast<std::int64_t>(rows)),
                    FlatBuffer::refers(1, node_list), FlatBuffer::refers(2, buffer_list)});
}

// Where a value is missing there is a zero.
template <typename T>
std::string spread(const std::vector<T>& values, const std::vector<bool>& present) {
  std::string out;
  if (present.empty()) {
    append_bytes(out, values.data(), values.size());
    return out;
  }
  std::vector<T> all(present.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < present.size(); ++i)
    if (present[i]) all[i] = values[next++];
  append_bytes(out, all.data(), all.size());
  return out;
}

std::string validity(const std::vector<bool>& present) {
  std::string bits((present.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < present.size(); ++i)
    if (present[i])
      bits[i / 8] = static_cast<char>(static_cast<unsigned char>(bits[i / 8]) | 1U << i % 8);
  return bits;
}

std::size_t values_in(ColumnType type, const ColumnValues& chunk) {
  if (type == ColumnType::Int64) return chunk.numbers.size();
  return type == ColumnType::Double ? chunk.reals.size() : chunk.indices.size();
}

}  // namespace

Result<ArrowWriter> ArrowWriter::create(const std::string& path, std::vector<ColumnSpec> columns) {
  SONDE_TRY(OutputFile file, OutputFile::create(path));
  ArrowWriter writer(std::move(file), std::move(columns));
  SONDE_TRY_VOID(writer.write_message(schema_message(writer.columns_), ""));
  // Readers expect every dictionary before the first batch, also if it is empty.
  for (std::size_t i = 0; i < writer.columns_.size(); ++i)
    if (writer.columns_[i].type == ColumnType::Text)
      SONDE_TRY_VOID(writer.write_dictionary(i, {}, false));
  return writer;
}

Result<void> ArrowWriter::write_message(std::string metadata, std::string_view body) {
  metadata.resize((metadata.size() + 7) / 8 * 8, '\0');
  std::string head;
  const std::uint32_t words[] = {kArrowBeforeMessage, static_cast<std::uint32_t>(metadata.size())};
  append_bytes(head, words, 2);
  SONDE_TRY_VOID(file_.append(head + metadata));
  return file_.append(body);
}

Result<void> ArrowWriter::write_new_texts(std::size_t column, const ColumnValues& chunk) {
  Dictionary& known = dictionaries_[column];
  std::vector<std::string_view> added;
  for (const std::string_view text : chunk.texts)
    if (known.try_emplace(text, static_cast<std::int32_t>(known.size())).second)
      added.push_back(text);
  return added.empty() ? Result<void>() : write_dictionary(column, added, true);
}

Result<void> ArrowWriter::write_dictionary(std::size_t column,
                                           const std::vector<std::string_view>& added,
                                           bool is_more) {
  std::vector<std::int32_t> ends = {0};
  std::string texts;
  for (const std::string_view text : added) {
    texts += text;
    ends.push_back(static_cast<std::int32_t>(texts.size()));
  }
  const std::size_t rows = added.size();
  std::string offsets;
  append_bytes(offsets, ends.data(), ends.size());
  Body body;
  body.add("");
  body.add(offsets);
  body.add(texts);
  FlatBuffer out;
  const FlatBuffer::Place data = batch(out, rows, {{static_cast<std::int64_t>(rows), 0}}, body);
  const FlatBuffer::Place dictionary =
      out.table({FlatBuffer::value(0, static_cast<std::int64_t>(column)),
                 FlatBuffer::refers(1, data), FlatBuffer::value(2, is_more)});
  return write_message(message(out, kArrowDictionaryBatch, dictionary, body.bytes().size()),
                       body.bytes());
}

Result<void> ArrowWriter::write_group(std::size_t rows, const std::vector<ColumnValues>& chunks) {
  Body body;
  Pairs nodes;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const ColumnValues& chunk = chunks[i];
    const ColumnType type = columns_[i].type;
    const std::size_t missing = rows - values_in(type, chunk);
    nodes.emplace_back(static_cast<std::int64_t>(rows), static_cast<std::int64_t>(missing));
    body.add(missing == 0 ? "" : validity(chunk.present));
    if (type == ColumnType::Int64) {
      body.add(spread(chunk.numbers, chunk.present));
    } else if (type == ColumnType::Double) {
      body.add(spread(chunk.reals, chunk.present));
    } else {
      SONDE_TRY_VOID(write_new_texts(i, chunk));
      std::vector<std::int32_t> places;
      places.reserve(chunk.texts.size());
      for (const std::string_view text : chunk.texts)
        places.push_back(dictionaries_[i].find(text)->second);
      std::vector<std::int32_t> keys;
      keys.reserve(chunk.indices.size());
      for (const std::uint32_t index : chunk.indices) keys.push_back(places[index]);
      body.add(spread(keys, chunk.present));
    }
  }
  FlatBuffer out;
  const FlatBuffer::Place data = batch(out, rows, nodes, body);
  return write_message(message(out, kArrowRecordBatch, data, body.bytes().size()), body.bytes());
}

Result<void> ArrowWriter::finish() {
  std::string end;
  const std::uint32_t words[] = {kArrowBeforeMessage, 0};
  append_bytes(end, words, 2);
  SONDE_TRY_VOID(file_.append(end));
  return file_.commit();
}

}  // namespace sonde
