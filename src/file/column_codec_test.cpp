// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "file/column_codec.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "sonde/trace/tables_gen.h"

namespace sonde {
namespace {

template <typename T>
std::vector<T> round_trip(const std::vector<T>& values) {
  const ColumnChunk chunk{"spans", "x", element_type<T>(), 100, 3, values.size()};
  const auto payload = encode_chunk(chunk, values.data());
  std::vector<std::uint8_t> bytes;
  const Result<ColumnChunk> read = decode_chunk(payload, bytes);
  EXPECT_TRUE(read);
  EXPECT_EQ(read->table, "spans");
  EXPECT_EQ(read->first_row, 3u);
  EXPECT_EQ(read->rows, values.size());
  std::vector<T> result(values.size());
  if (!values.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

template <typename T>
std::vector<T> extremes() {
  constexpr T kMin = std::numeric_limits<T>::min();
  constexpr T kMax = std::numeric_limits<T>::max();
  return {0, kMax, kMin, 1, kMin, kMax, 5};
}

TEST(ColumnCodec, GivesBackValuesOfEveryType) {
  EXPECT_EQ(round_trip(extremes<std::int64_t>()), extremes<std::int64_t>());
  EXPECT_EQ(round_trip(extremes<std::uint64_t>()), extremes<std::uint64_t>());
  EXPECT_EQ(round_trip(extremes<std::int32_t>()), extremes<std::int32_t>());
  EXPECT_EQ(round_trip(extremes<std::uint32_t>()), extremes<std::uint32_t>());
  EXPECT_EQ(round_trip(extremes<std::uint16_t>()), extremes<std::uint16_t>());
  EXPECT_EQ(round_trip(extremes<std::int8_t>()), extremes<std::int8_t>());
  const std::vector<double> doubles = {0.5, -1e300, 0};
  EXPECT_EQ(round_trip(doubles), doubles);
  EXPECT_EQ(round_trip(std::vector<std::int64_t>()), std::vector<std::int64_t>());
}

TEST(ColumnCodec, NamesTypesByWidthAndSign) {
  EXPECT_EQ(element_type<SpanId>(), ElementType::Uint32);
  EXPECT_EQ(element_type<SpanKind>(), ElementType::Uint8);
  EXPECT_EQ(element_type<Nanos>(), ElementType::Int64);
  EXPECT_EQ(element_type<std::uint16_t>(), ElementType::Uint16);
  EXPECT_EQ(element_bytes(ElementType::Int32), 4u);
  EXPECT_EQ(element_bytes(static_cast<ElementType>(77)), 0u);
}

// A payload of one int32 row with one field changed.
std::vector<std::uint8_t> payload_with(std::uint8_t type, std::uint8_t encoding,
                                       std::uint64_t table_rows, std::uint64_t first,
                                       std::uint64_t rows) {
  ByteWriter out;
  out.string("t");
  out.string("c");
  out.write(type);
  out.write(encoding);
  out.varint(table_rows);
  out.varint(first);
  out.varint(rows);
  out.write(std::int32_t{7});
  return out.take();
}

TEST(ColumnCodec, RefusesWhatDoesNotFitTogether) {
  std::vector<std::uint8_t> values;
  const auto decodes = [&values](const std::vector<std::uint8_t>& payload) {
    return decode_chunk(payload, values).has_value();
  };
  constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
  EXPECT_TRUE(decodes(payload_with(6, 0, 1, 0, 1)));
  EXPECT_FALSE(decodes(payload_with(77, 0, 1, 0, 1)));
  EXPECT_FALSE(decodes(payload_with(6, 9, 1, 0, 1)));
  EXPECT_FALSE(decodes(payload_with(6, 0, 1, 1, 1)));
  EXPECT_FALSE(decodes(payload_with(6, 0, 1, 0, 2)));
  EXPECT_FALSE(decodes(payload_with(6, 0, kHuge, 0, kHuge)));
  EXPECT_FALSE(decodes(payload_with(6, 0, 5, kHuge, 1)));
  EXPECT_FALSE(decodes(payload_with(3, 1, 2, 0, 2)));
}

TEST(ColumnCodec, RefusesEveryTruncation) {
  const auto payload = payload_with(6, 0, 1, 0, 1);
  std::vector<std::uint8_t> values;
  for (std::size_t length = 0; length < payload.size(); ++length) {
    EXPECT_FALSE(decode_chunk(std::span(payload).first(length), values)) << length;
  }
}

}  // namespace
}  // namespace sonde
