// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/argument_lists.h"

#include <optional>
#include <string>
#include <vector>

#include "base/json_string.h"
#include "convert/json/json_number.h"
#include "convert/json/json_text.h"

namespace sonde {

namespace {

using Numbers = std::vector<std::int64_t>;

// One element of dims or strides: a list of numbers, or one such list per tensor of a list.
struct Shape {
  Numbers numbers;
  std::vector<Numbers> elements;
  bool is_nested = false;
};

std::optional<Numbers> to_numbers(std::string_view raw) {
  Numbers numbers;
  const bool whole = for_each_element(raw, [&numbers](std::string_view item) {
    const std::optional<std::int64_t> number = to_integer(item);
    if (number) numbers.push_back(*number);
    return number.has_value();
  });
  if (!whole) return std::nullopt;
  return numbers;
}

std::optional<Shape> to_shape(std::string_view raw) {
  Shape shape;
  if (std::optional<Numbers> numbers = to_numbers(raw)) {
    shape.numbers = std::move(*numbers);
    return shape;
  }
  shape.is_nested = true;
  const bool whole = for_each_element(raw, [&shape](std::string_view item) {
    std::optional<Numbers> numbers = to_numbers(item);
    if (numbers) shape.elements.push_back(std::move(*numbers));
    return numbers.has_value();
  });
  if (!whole) return std::nullopt;
  return shape;
}

template <typename T, typename Convert>
std::optional<std::vector<T>> to_list(std::string_view raw, const Convert& convert) {
  std::vector<T> list;
  const bool whole = for_each_element(raw, [&](std::string_view item) {
    std::optional<T> value = convert(item);
    if (value) list.push_back(std::move(*value));
    return value.has_value();
  });
  if (!whole) return std::nullopt;
  return list;
}

std::optional<std::string> to_text(std::string_view raw) {
  if (!is_quoted(raw)) return std::nullopt;
  return decode_json_string(unquoted(raw));
}

// The arrays of one call. Those that are present have the same length.
struct Arrays {
  std::optional<std::vector<Shape>> dims;
  std::optional<std::vector<Shape>> strides;
  std::optional<std::vector<std::string>> types;
  std::optional<std::vector<std::string>> values;
  std::size_t count = 0;
};

std::optional<Arrays> to_arrays(const RawArguments& raw) {
  Arrays arrays;
  bool good = true;
  const auto take = [&](auto& list, std::string_view text, const auto& convert) {
    using List = std::remove_reference_t<decltype(*list)>;
    if (text.empty()) return;
    list = to_list<typename List::value_type>(text, convert);
    good = good && list && !list->empty() && (arrays.count == 0 || arrays.count == list->size());
    if (good) arrays.count = list->size();
  };
  take(arrays.dims, raw[0], to_shape);
  take(arrays.strides, raw[1], to_shape);
  take(arrays.types, raw[2], to_text);
  take(arrays.values, raw[3], to_text);
  if (!good) return std::nullopt;
  return arrays;
}

ArgumentKind kind_of(const std::optional<std::string>& type, bool is_nested) {
  if (!type) return is_nested ? ArgumentKind::TensorList : ArgumentKind::Tensor;
  if (type->empty()) return ArgumentKind::None;
  if (*type == "TensorList") return ArgumentKind::TensorList;
  if (*type == "Scalar") return ArgumentKind::Scalar;
  if (*type == "ScalarList") return ArgumentKind::ScalarList;
  return ArgumentKind::Tensor;
}

// Whether the rows hold everything that the arrays say about argument i.
bool fits(const Arrays& arrays, std::size_t i, ArgumentKind kind) {
  const Shape none;
  const Shape& dims = arrays.dims ? (*arrays.dims)[i] : none;
  const Shape& strides = arrays.strides ? (*arrays.strides)[i] : none;
  if (kind != ArgumentKind::TensorList) return !dims.is_nested && !strides.is_nested;
  if (!dims.numbers.empty() || !strides.numbers.empty()) return false;
  return !arrays.dims || !arrays.strides || dims.elements.size() == strides.elements.size();
}

class ListBuilder {
 public:
  explicit ListBuilder(TraceBuilder& builder) : builder_(builder) {}

  ArgumentListId add(const Arrays& arrays, const std::vector<ArgumentKind>& kinds) {
    const std::size_t first = builder_.op_arguments().size();
    for (std::size_t i = 0; i < arrays.count; ++i) add_argument(arrays, i, kinds[i]);
    ArgumentListRow list;
    list.first = OpArgumentId(first);
    list.count = static_cast<std::int32_t>(builder_.op_arguments().size() - first);
    return builder_.argument_lists().push_back(list);
  }

 private:
  void add_argument(const Arrays& arrays, std::size_t i, ArgumentKind kind) {
    OpArgumentRow row;
    row.index = static_cast<std::int32_t>(i);
    row.kind = kind;
    if (arrays.types && kind == ArgumentKind::Tensor) {
      row.dtype = builder_.intern((*arrays.types)[i]);
    }
    if (arrays.values && !(*arrays.values)[i].empty()) {
      row.value = builder_.intern((*arrays.values)[i]);
    }
    const Shape* dims = arrays.dims ? &(*arrays.dims)[i] : nullptr;
    const Shape* strides = arrays.strides ? &(*arrays.strides)[i] : nullptr;
    if (kind != ArgumentKind::TensorList) {
      // Only a tensor can have zero dimensions; for other arguments an empty list means nothing.
      const bool is_tensor = kind == ArgumentKind::Tensor;
      if (dims != nullptr && (is_tensor || !dims->numbers.empty())) set_dims(row, dims->numbers);
      if (strides != nullptr && (is_tensor || !strides->numbers.empty())) {
        set_strides(row, strides->numbers);
      }
    }
    builder_.op_arguments().push_back(row);
    if (kind == ArgumentKind::TensorList) add_elements(row.index, dims, strides);
  }

  void add_elements(std::int32_t index, const Shape* dims, const Shape* strides) {
    const std::size_t count = dims != nullptr      ? dims->elements.size()
                              : strides != nullptr ? strides->elements.size()
                                                   : 0;
    for (std::size_t i = 0; i < count; ++i) {
      OpArgumentRow row;
      row.index = index;
      row.element = static_cast<std::int32_t>(i);
      row.kind = ArgumentKind::Tensor;
      if (dims != nullptr) set_dims(row, dims->elements[i]);
      if (strides != nullptr) set_strides(row, strides->elements[i]);
      builder_.op_arguments().push_back(row);
    }
  }

  DimId add_numbers(const Numbers& numbers) {
    const DimId first(builder_.dims().size());
    for (const std::int64_t number : numbers) builder_.dims().push_back({number});
    return numbers.empty() ? DimId() : first;
  }
  void set_dims(OpArgumentRow& row, const Numbers& numbers) {
    row.dims_first = add_numbers(numbers);
    row.dims_count = static_cast<std::int32_t>(numbers.size());
  }
  void set_strides(OpArgumentRow& row, const Numbers& numbers) {
    row.strides_first = add_numbers(numbers);
    row.strides_count = static_cast<std::int32_t>(numbers.size());
  }

  TraceBuilder& builder_;
};

}  // namespace

ArgumentListId add_argument_list(TraceBuilder& builder, const RawArguments& raw) {
  const std::optional<Arrays> arrays = to_arrays(raw);
  if (!arrays) return {};
  std::vector<ArgumentKind> kinds;
  for (std::size_t i = 0; i < arrays->count; ++i) {
    std::optional<std::string> type;
    if (arrays->types) type = (*arrays->types)[i];
    const bool is_nested = arrays->dims && (*arrays->dims)[i].is_nested;
    kinds.push_back(kind_of(type, is_nested));
    if (!fits(*arrays, i, kinds.back())) return {};
  }
  return ListBuilder(builder).add(*arrays, kinds);
}

}  // namespace sonde
