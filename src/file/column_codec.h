// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Some rows of one column as the payload of a Columns block; docs/file-format.md shows the layout.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sonde/result.h"
#include "sonde/trace/column.h"

namespace sonde {

enum class ElementType : std::uint8_t {
  Uint8 = 1,
  Int8 = 2,
  Uint16 = 3,
  Int16 = 4,
  Uint32 = 5,
  Int32 = 6,
  Uint64 = 7,
  Int64 = 8,
  Float64 = 9,
};

// Ids are stored as Uint32, enumerators as Uint8.
template <typename T>
constexpr ElementType element_type() {
  if constexpr (IsId<T>::value) {
    return ElementType::Uint32;
  } else if constexpr (std::is_enum_v<T>) {
    return element_type<std::underlying_type_t<T>>();
  } else if constexpr (std::is_floating_point_v<T>) {
    static_assert(sizeof(T) == 8);
    return ElementType::Float64;
  } else {
    constexpr int kWidth = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<ElementType>(2 * kWidth + (std::is_signed_v<T> ? 2 : 1));
  }
}

// Bytes of one element; 0 for an unknown type.
std::size_t element_bytes(ElementType type);

// Rows that go into one block, whatever the type.
inline constexpr std::size_t kRowsPerBlock = std::size_t{1} << 17;

struct ColumnChunk {
  std::string_view table;
  std::string_view column;
  ElementType type = ElementType::Uint8;
  std::uint64_t table_rows = 0;  // of the whole table, so that a loss is noticed
  std::uint64_t first_row = 0;
  std::uint64_t rows = 0;
};

// `values` must hold chunk.rows elements.
std::vector<std::uint8_t> encode_chunk(const ColumnChunk& chunk, const void* values);

// The names are views into `payload`. `values` gets chunk.rows elements; its length is bounded by
// that of `payload`. The message of a failure names no file.
Result<ColumnChunk> decode_chunk(std::span<const std::uint8_t> payload,
                                 std::vector<std::uint8_t>& values);

}  // namespace sonde
