// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/inputs.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "collect/torch/keywords.h"
#include "collect/torch/node_values.h"
#include "sonde/source/op.h"

namespace sonde::torch {
namespace {

constexpr std::size_t kMostListItems = 30;

// A text of bounded length that needs no allocation.
class ShortText {
 public:
  void add(std::string_view text) {
    const std::size_t fits = std::min(text.size(), sizeof(bytes_) - size_);
    std::memcpy(bytes_ + size_, text.data(), fits);
    size_ += fits;
  }
  void add(std::int64_t number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
    add({digits, static_cast<std::size_t>(end - digits)});
  }
  // 17 digits, and a point if it would otherwise look like an integer.
  void add(double number) {
    char digits[40];
    const int size = std::snprintf(digits, sizeof(digits), "%.17g", number);
    const std::string_view text(digits, static_cast<std::size_t>(size));
    add(text);
    if (text.find_first_of(".en") == std::string_view::npos) add(std::string_view("."));
  }
  void add(bool flag) { add(std::string_view(flag ? "True" : "False")); }
  void add(const char* text) = delete;  // would convert to bool
  // False if the value is none of these.
  bool add(const c10::IValue& value) {
    if (value.isBool()) {
      add(value.toBool());
    } else if (value.isInt()) {
      add(value.toInt());
    } else if (value.isDouble()) {
      add(value.toDouble());
    } else {
      return false;
    }
    return true;
  }
  std::string_view text() const { return {bytes_, size_}; }

 private:
  char bytes_[1024];
  std::size_t size_ = 0;
};

std::uint32_t type_number(const at::Tensor& tensor) {
  static thread_local std::array<std::uint32_t, 64> known{};
  const auto index = static_cast<std::size_t>(tensor.scalar_type());
  if (index < known.size() && known[index] != 0) return known[index];
  const auto name = tensor.dtype().name();
  const std::uint32_t number = sonde_name(name.data(), name.size());
  if (index < known.size()) known[index] = number;
  return number;
}

class Packer {
 public:
  Packer(OpInputs& out, bool with_tensors) : out_(out), with_tensors_(with_tensors) {}

  void argument(const c10::IValue& value) {
    if (value.isTensor()) {
      tensor(value.toTensor(), -1);
    } else if (value.isTensorList()) {
      tensor_list(value.toTensorList());
    } else if (value.isScalar()) {
      scalar(value);
    } else if (value.isList()) {
      list(value.toListRef());
    } else {
      out_.none();
    }
    ++index_;
  }

  // Of what PyTorch shows: numbers, texts, and lists of texts.
  void keyword(const std::string& name, const c10::IValue& value) {
    ShortText text;
    if (value.isString()) {
      out_.keyword(name, value.toStringRef());
    } else if (value.isBool()) {
      out_.keyword(name, value.toBool() ? "true" : "false");
    } else if (text.add(value)) {
      out_.keyword(name, text.text());
    } else if (value.isList()) {
      texts(name, value.toListRef());
    }
  }

  void finish() {
    if (out_.empty()) return;
    sonde_op_inputs(out_.words(), out_.word_count());
    write_tensors();
  }

 private:
  // Tensors without sizes of their own are recorded as none.
  static bool has_sizes(const at::Tensor& tensor) {
    return tensor.defined() && !tensor.is_nested() &&
           !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
  }

  void tensor(const at::Tensor& tensor, std::int32_t element) {
    if (!has_sizes(tensor)) return out_.none();
    const c10::IntArrayRef sizes = tensor.sizes();
    const bool strided = tensor.layout() == c10::kStrided;
    const c10::Device device = tensor.device();
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): -1 is none
    if (!device.is_cpu()) out_.device(static_cast<std::uint8_t>(device.type()), device.index());
    const c10::IntArrayRef strides = strided ? tensor.strides() : c10::IntArrayRef();
    out_.tensor(type_number(tensor), sizes.data(), sizes.size(), strides.data(), strides.size());
    if (!with_tensors_) return;
    if (used_ == tensors_.size()) write_tensors();
    sonde_tensor& use = tensors_[used_++];
    use.size = sizeof(use);
    use.index = index_;
    use.element = element;
    use.tensor_address = reinterpret_cast<std::uintptr_t>(tensor.unsafeGetTensorImpl());
    use.storage_address =
        strided && tensor.has_storage()
            ? reinterpret_cast<std::uintptr_t>(tensor.storage().unsafeGetStorageImpl()->data())
            : 0;
  }

  void write_tensors() {
    if (used_ > 0) sonde_op_tensors(tensors_.data(), used_);
    used_ = 0;
  }

  void tensor_list(const c10::List<at::Tensor>& tensors) {
    for (const at::Tensor& item : tensors) {
      if (!has_sizes(item)) return out_.none();
    }
    out_.tensor_list(tensors.size());
    std::int32_t element = 0;
    for (const at::Tensor& item : tensors) tensor(item, element++);
  }

  void scalar(const c10::IValue& value) {
    ShortText text;
    if (!text.add(value)) return out_.none();
    out_.scalar(text.text());
  }

  // Records lists of scalars. Lists of anything else are recorded as none.
  void list(c10::ArrayRef<c10::IValue> items) {
    if (items.size() > kMostListItems) return out_.none();
    ShortText text;
    text.add(std::string_view("["));
    bool first = true;
    for (const c10::IValue& item : items) {
      if (!first) text.add(std::string_view(", "));
      first = false;
      if (!text.add(item)) return out_.none();
    }
    text.add(std::string_view("]"));
    out_.scalar_list(text.text());
  }

  void texts(const std::string& name, c10::ArrayRef<c10::IValue> items) {
    std::string json = "[";
    for (const c10::IValue& item : items) {
      if (!item.isString() || items.size() > kMostListItems) return;
      if (json.size() > 1) json += ", ";
      append_json(json, item.toStringRef());
    }
    out_.keyword(name, json + "]");
  }

  OpInputs& out_;
  const bool with_tensors_;
  std::int32_t index_ = 0;
  std::array<sonde_tensor, 128> tensors_;
  std::size_t used_ = 0;
};

}  // namespace

void record_inputs(const at::RecordFunction& fn, OpInputs& scratch, bool with_tensors) {
  scratch.clear();
  Packer packer(scratch, with_tensors);
  for (const c10::IValue& value : fn.inputs()) packer.argument(value);
  for_each_keyword(
      fn, [&](const std::string& name, const c10::IValue& value) { packer.keyword(name, value); });
  packer.finish();
}

}  // namespace sonde::torch
