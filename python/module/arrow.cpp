// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arrow.h"

#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace sonde::python {
namespace {

constexpr std::int64_t kNullable = 2;
constexpr std::size_t kEnumTexts = 256;

// What arrays point at, for as long as any of them lives.
struct ArrowTexts {
  std::vector<std::int64_t> offsets;
  std::string bytes;
};

std::string as_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = utf8_sequence(text);
    if (bytes == 0) {
      append_utf8(out, 0xfffd);
      text.remove_prefix(1);
    } else {
      out.append(text.substr(0, bytes));
      text.remove_prefix(bytes);
    }
  }
  return out;
}

void add_text(ArrowTexts& texts, std::string_view text) {
  texts.bytes += as_utf8(text);
  texts.offsets.push_back(static_cast<std::int64_t>(texts.bytes.size()));
}

std::shared_ptr<const ArrowTexts> texts_of(const StringPool& strings) {
  auto texts = std::make_shared<ArrowTexts>();
  texts->offsets.push_back(0);
  for (std::size_t i = 0; i < strings.size(); ++i) add_text(*texts, strings[StringId(i)]);
  return texts;
}

std::shared_ptr<const ArrowTexts> texts_of(const ColumnView& column) {
  auto texts = std::make_shared<ArrowTexts>();
  texts->offsets.push_back(0);
  for (std::size_t i = 0; i < kEnumTexts; ++i)
    add_text(*texts, column.enum_text(static_cast<std::uint8_t>(i)));
  return texts;
}

const char* arrow_format(ColumnType type) {
  static constexpr std::array<const char*, 12> kFormats = {"c", "s", "i", "l", "C", "S",
                                                           "I", "L", "g", "I", "I", "C"};
  return kFormats[static_cast<std::size_t>(type)];
}
bool has_texts(const ColumnView& column) {
  return column.type == ColumnType::String || column.type == ColumnType::Enum;
}

struct OwnedSchema {
  std::vector<ArrowSchema*> children;
};

void release_schema(ArrowSchema* schema) {
  auto* const owned = static_cast<OwnedSchema*>(schema->private_data);
  for (ArrowSchema* const child : owned->children) {
    if (child->release != nullptr) child->release(child);
    delete child;
  }
  if (schema->dictionary != nullptr) {
    if (schema->dictionary->release != nullptr) schema->dictionary->release(schema->dictionary);
    delete schema->dictionary;
  }
  delete owned;
  schema->release = nullptr;
}

// Names and formats live as long as the program.
void fill_schema(ArrowSchema* out, const char* format, const char* name, std::int64_t flags) {
  *out = {format, name, nullptr, flags, 0, nullptr, nullptr, release_schema, new OwnedSchema};
}

ArrowSchema* column_schema(const ColumnView& column) {
  auto* const schema = new ArrowSchema;
  fill_schema(schema, arrow_format(column.type), column.name, column.has_nulls() ? kNullable : 0);
  if (has_texts(column)) {
    schema->dictionary = new ArrowSchema;
    fill_schema(schema->dictionary, "U", "", 0);
  }
  return schema;
}

void table_schema(const TableView& table, ArrowSchema* out) {
  fill_schema(out, "+s", "", 0);
  auto& children = static_cast<OwnedSchema*>(out->private_data)->children;
  for (const ColumnView& column : table.columns) children.push_back(column_schema(column));
  out->n_children = static_cast<std::int64_t>(children.size());
  out->children = children.data();
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

struct OwnedArray {
  std::shared_ptr<const TableView> table;
  std::shared_ptr<const ArrowTexts> texts;
  std::unique_ptr<void, Free> nothing;  // for a column without values
  std::vector<std::uint8_t> valid;
  std::array<const void*, 3> buffers = {};
  std::vector<ArrowArray*> children;
};

void release_array(ArrowArray* array) {
  auto* const owned = static_cast<OwnedArray*>(array->private_data);
  for (ArrowArray* const child : owned->children) {
    if (child->release != nullptr) child->release(child);
    delete child;
  }
  if (array->dictionary != nullptr) {
    if (array->dictionary->release != nullptr) array->dictionary->release(array->dictionary);
    delete array->dictionary;
  }
  delete owned;
  array->release = nullptr;
}

OwnedArray* fill_array(ArrowArray* out, std::size_t length, std::int64_t n_buffers) {
  auto* const owned = new OwnedArray;
  *out = {static_cast<std::int64_t>(length),
          0,
          0,
          n_buffers,
          0,
          owned->buffers.data(),
          nullptr,
          nullptr,
          release_array,
          owned};
  return owned;
}

ArrowArray* text_array(std::shared_ptr<const ArrowTexts> texts) {
  auto* const array = new ArrowArray;
  OwnedArray* const owned = fill_array(array, texts->offsets.size() - 1, 3);
  owned->buffers = {nullptr, texts->offsets.data(), texts->bytes.data()};
  owned->texts = std::move(texts);
  return array;
}

// One bit per row: whether it has a value.
std::int64_t mark_valid(const ColumnView& column, std::vector<std::uint8_t>& bits) {
  bits.assign((column.size + 7) / 8, 0);
  if (column.data == nullptr) return static_cast<std::int64_t>(column.size);
  std::int64_t nulls = 0;
  for (std::size_t row = 0; row < column.size; ++row) {
    const bool is_null = column.bits_at(row) == column.null_value;
    nulls += is_null ? 1 : 0;
    if (!is_null) bits[row / 8] = static_cast<std::uint8_t>(bits[row / 8] | 1U << row % 8);
  }
  return nulls;
}

// For a column without values: memory that the system fills with zeros when it is read.
const void* values_of(const ColumnView& column, OwnedArray& owned) {
  if (column.data != nullptr || column.size == 0) return column.data;
  owned.nothing.reset(std::calloc(column.size, column.item_bytes));
  if (column.null_value == 0 || column.has_nulls() || !owned.nothing) return owned.nothing.get();
  auto* const bytes = static_cast<std::uint8_t*>(owned.nothing.get());
  for (std::size_t row = 0; row < column.size; ++row)
    std::memcpy(bytes + row * column.item_bytes, &column.null_value, column.item_bytes);
  return bytes;
}

ArrowArray* column_array(const std::shared_ptr<const TableView>& table, const ColumnView& column,
                         const std::shared_ptr<const ArrowTexts>& strings) {
  auto* const array = new ArrowArray;
  OwnedArray* const owned = fill_array(array, column.size, 2);
  owned->table = table;
  if (column.has_nulls()) array->null_count = mark_valid(column, owned->valid);
  const bool is_marked = array->null_count > 0;
  owned->buffers = {is_marked ? owned->valid.data() : nullptr, values_of(column, *owned), nullptr};
  if (has_texts(column))
    array->dictionary = text_array(column.type == ColumnType::String ? strings : texts_of(column));
  return array;
}

void table_array(const std::shared_ptr<const TableView>& table, ArrowArray* out) {
  OwnedArray* const owned = fill_array(out, table->size, 1);
  std::shared_ptr<const ArrowTexts> strings;
  for (const ColumnView& column : table->columns) {
    if (column.type == ColumnType::String && strings == nullptr)
      strings = texts_of(table->trace.strings());
    owned->children.push_back(column_array(table, column, strings));
  }
  out->n_children = static_cast<std::int64_t>(owned->children.size());
  out->children = owned->children.data();
}

struct StreamState {
  std::shared_ptr<const TableView> table;
  bool is_at_end = false;
};

StreamState& state_of(ArrowArrayStream* stream) {
  return *static_cast<StreamState*>(stream->private_data);
}

}  // namespace

ArrowArrayStream* make_arrow_stream(std::shared_ptr<const TableView> table) {
  auto* const stream = new ArrowArrayStream;
  stream->private_data = new StreamState{std::move(table), false};
  stream->get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
    table_schema(*state_of(self).table, out);
    return 0;
  };
  stream->get_next = [](ArrowArrayStream* self, ArrowArray* out) {
    if (std::exchange(state_of(self).is_at_end, true)) {
      *out = {};
    } else {
      table_array(state_of(self).table, out);
    }
    return 0;
  };
  stream->get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; };
  stream->release = [](ArrowArrayStream* self) {
    delete &state_of(self);
    self->release = nullptr;
  };
  return stream;
}

}  // namespace sonde::python
