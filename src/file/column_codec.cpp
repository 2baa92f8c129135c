// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "file/column_codec.h"

#include <cstring>

#include "base/bytes.h"

namespace sonde {

namespace {

enum class Encoding : std::uint8_t {
  Plain = 0,
  // Each value minus the one before it, with the sign in bit 0; then all lowest bytes, all second
  // bytes and so on. Times and row numbers become long runs of zeros, which zstd compresses well.
  Deltas = 1,
};

bool wants_deltas(ElementType type) {
  return element_bytes(type) >= 4 && type != ElementType::Float64;
}

template <typename Word>
void encode_deltas(ByteWriter& out, const void* values, std::size_t rows) {
  constexpr unsigned kTopBit = 8 * sizeof(Word) - 1;
  std::vector<std::uint8_t> planes(rows * sizeof(Word));
  const auto* bytes = static_cast<const std::uint8_t*>(values);
  Word before = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    Word value;
    std::memcpy(&value, bytes + i * sizeof(Word), sizeof(Word));
    const Word delta = static_cast<Word>(value - before);
    const Word sign = static_cast<Word>(Word{0} - (delta >> kTopBit));
    const Word folded = static_cast<Word>((delta << 1) ^ sign);
    before = value;
    for (std::size_t b = 0; b < sizeof(Word); ++b) {
      planes[b * rows + i] = static_cast<std::uint8_t>(folded >> (8 * b));
    }
  }
  out.raw(planes.data(), planes.size());
}

template <typename Word>
void decode_deltas(std::span<const std::uint8_t> planes, std::size_t rows, std::uint8_t* values) {
  Word value = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    Word folded = 0;
    for (std::size_t b = 0; b < sizeof(Word); ++b) {
      folded = static_cast<Word>(folded | static_cast<Word>(Word{planes[b * rows + i]} << (8 * b)));
    }
    const Word sign = static_cast<Word>(Word{0} - (folded & 1));
    value = static_cast<Word>(value + static_cast<Word>((folded >> 1) ^ sign));
    std::memcpy(values + i * sizeof(Word), &value, sizeof(Word));
  }
}

}  // namespace

std::size_t element_bytes(ElementType type) {
  const auto code = static_cast<unsigned>(type);
  if (code == 0 || code > static_cast<unsigned>(ElementType::Float64)) return 0;
  return type == ElementType::Float64 ? 8 : std::size_t{1} << ((code - 1) / 2);
}

std::vector<std::uint8_t> encode_chunk(const ColumnChunk& chunk, const void* values) {
  const std::size_t rows = static_cast<std::size_t>(chunk.rows);
  ByteWriter out;
  out.string(chunk.table);
  out.string(chunk.column);
  out.write(chunk.type);
  out.write(wants_deltas(chunk.type) ? Encoding::Deltas : Encoding::Plain);
  out.varint(chunk.table_rows);
  out.varint(chunk.first_row);
  out.varint(chunk.rows);
  if (!wants_deltas(chunk.type)) {
    out.raw(values, rows * element_bytes(chunk.type));
  } else if (element_bytes(chunk.type) == 8) {
    encode_deltas<std::uint64_t>(out, values, rows);
  } else {
    encode_deltas<std::uint32_t>(out, values, rows);
  }
  return out.take();
}

Result<ColumnChunk> decode_chunk(std::span<const std::uint8_t> payload,
                                 std::vector<std::uint8_t>& values) {
  ByteReader in(payload);
  ColumnChunk chunk;
  chunk.table = in.string();
  chunk.column = in.string();
  chunk.type = in.read<ElementType>();
  const auto encoding = in.read<Encoding>();
  chunk.table_rows = in.varint();
  chunk.first_row = in.varint();
  chunk.rows = in.varint();
  if (!in.ok()) return Failure(ErrorCode::Corrupt, "has an incomplete description of its column");
  const std::size_t width = element_bytes(chunk.type);
  if (width == 0) return Failure(ErrorCode::Corrupt, "has elements of an unknown type");
  if (chunk.rows != in.remaining() / width || in.remaining() % width != 0) {
    return Failure(ErrorCode::Corrupt, "does not hold as many rows as it claims");
  }
  if (chunk.first_row > chunk.table_rows || chunk.rows > chunk.table_rows - chunk.first_row) {
    return Failure(ErrorCode::Corrupt, "holds rows past the end of its table");
  }
  const std::size_t rows = static_cast<std::size_t>(chunk.rows);
  const std::span<const std::uint8_t> data = in.bytes(in.remaining());
  values.resize(data.size());
  if (encoding == Encoding::Plain) {
    if (!data.empty()) std::memcpy(values.data(), data.data(), data.size());
  } else if (encoding == Encoding::Deltas && wants_deltas(chunk.type)) {
    if (width == 8) {
      decode_deltas<std::uint64_t>(data, rows, values.data());
    } else {
      decode_deltas<std::uint32_t>(data, rows, values.data());
    }
  } else {
    return Failure(ErrorCode::Corrupt, "has an unknown encoding");
  }
  return chunk;
}

}  // namespace sonde
