// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sql/order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string_view>

namespace sonde::sql {
namespace {

using Keys = std::vector<std::uint64_t>;

// Signed numbers in the order of unsigned ones.
std::uint64_t ordered(std::int64_t value) {
  return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63);
}

// The place of each string of each part among all texts, from 1; only of those that occur.
class TextPlaces {
 public:
  TextPlaces(const std::vector<Part>& parts, std::size_t field, const std::vector<RowAt>& rows) {
    places_.resize(parts.size());
    for (std::size_t p = 0; p < parts.size(); ++p) places_[p].resize(size_of(parts[p], field));
    for (const RowAt& at : rows) {
      const Field& column = parts[at.part].fields[field];
      const std::int64_t raw = column.raw(at.row);
      if (!column.is_null(raw)) places_[at.part][static_cast<std::size_t>(raw)] = 1;
    }
    number(parts, field);
  }
  std::uint64_t of(std::size_t part, std::int64_t raw) const {
    return places_[part][static_cast<std::size_t>(raw)];
  }

 private:
  struct Text {
    std::string_view text;
    std::uint32_t part;
    std::uint32_t id;
  };

  static std::size_t size_of(const Part& part, std::size_t field) {
    return part.fields[field].type == FieldType::Label ? 256 : part.source->trace.strings().size();
  }
  static std::string_view text_of(const Part& part, std::size_t field, std::uint32_t id) {
    const Field& column = part.fields[field];
    return column.type == FieldType::Label ? column.reader->label(id)
                                           : part.source->trace.strings()[StringId(id)];
  }
  void number(const std::vector<Part>& parts, std::size_t field) {
    std::vector<Text> texts;
    for (std::uint32_t p = 0; p < parts.size(); ++p)
      for (std::uint32_t id = 0; id < places_[p].size(); ++id)
        if (places_[p][id] != 0) texts.push_back({text_of(parts[p], field, id), p, id});
    std::sort(texts.begin(), texts.end(),
              [](const Text& a, const Text& b) { return a.text < b.text; });
    std::uint32_t place = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (i == 0 || texts[i].text != texts[i - 1].text) ++place;
      places_[texts[i].part][texts[i].id] = place;
    }
  }

  std::vector<std::vector<std::uint32_t>> places_;
};

void fill_text_keys(const std::vector<Part>& parts, std::size_t field,
                    const std::vector<RowAt>& rows, Keys& keys) {
  const TextPlaces places(parts, field, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Field& column = parts[rows[i].part].fields[field];
    const std::int64_t raw = column.raw(rows[i].row);
    keys[i] = column.is_null(raw) ? 0 : places.of(rows[i].part, raw);
  }
}

// NULL is the key 0; all others are counted from the least, which is 1.
void fill_number_keys(const std::vector<Part>& parts, std::size_t field,
                      const std::vector<RowAt>& rows, Keys& keys) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  const auto value = [&](const RowAt& at, const Field& column, std::int64_t raw) {
    const std::int64_t base =
        column.type == FieldType::Reference ? parts[at.part].base_of(column, at.row) : 0;
    return ordered(raw + base);
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Field& column = parts[rows[i].part].fields[field];
    const std::int64_t raw = column.raw(rows[i].row);
    keys[i] = value(rows[i], column, raw);
    if (!column.is_null(raw)) least = std::min(least, keys[i]);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Field& column = parts[rows[i].part].fields[field];
    keys[i] = column.is_null(column.raw(rows[i].row)) ? 0 : keys[i] - least + 1;
  }
}

// By digits of 11 bits, the lowest first: stable, and as many passes as the largest key needs.
void sort_by_keys(Keys& keys, std::vector<RowAt>& rows) {
  constexpr unsigned kBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kBits;
  const std::uint64_t largest = keys.empty() ? 0 : *std::max_element(keys.begin(), keys.end());
  Keys other_keys(keys.size());
  std::vector<RowAt> other_rows(rows.size());
  for (unsigned shift = 0; shift < 64 && (largest >> shift) != 0; shift += kBits) {
    std::array<std::size_t, kDigits + 1> begin{};
    for (const std::uint64_t key : keys) ++begin[((key >> shift) & (kDigits - 1)) + 1];
    for (std::size_t i = 1; i < kDigits; ++i) begin[i] += begin[i - 1];
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::size_t to = begin[(keys[i] >> shift) & (kDigits - 1)]++;
      other_keys[to] = keys[i];
      other_rows[to] = rows[i];
    }
    keys.swap(other_keys);
    rows.swap(other_rows);
  }
}

bool has_text(const Part& part, std::size_t field) {
  const FieldType type = part.fields[field].type;
  return type == FieldType::Name || type == FieldType::Label;
}

}  // namespace

void put_in_order(const std::vector<Part>& parts, const std::vector<OrderTerm>& order,
                  std::vector<RowAt>& rows) {
  if (parts.empty()) return;
  Keys keys(rows.size());
  for (auto term = order.rbegin(); term != order.rend(); ++term) {
    if (has_text(parts.front(), term->field)) {
      fill_text_keys(parts, term->field, rows, keys);
    } else {
      fill_number_keys(parts, term->field, rows, keys);
    }
    if (term->descending) {
      const std::uint64_t largest = keys.empty() ? 0 : *std::max_element(keys.begin(), keys.end());
      for (std::uint64_t& key : keys) key = largest - key;
    }
    sort_by_keys(keys, rows);
  }
}

}  // namespace sonde::sql
