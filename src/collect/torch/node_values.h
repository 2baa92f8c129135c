// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The inputs and outputs of an operator as the JSON lists of an execution trace's node, by
// PyTorch's rules.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sonde/source/execution_trace_source.h"

namespace sonde::torch {

// Numbers operators, tensors and storages, all from one counter. Tensors and storages are
// identified by address. As in PyTorch, a new one at a reused address gets the number of the old
// one.
class NodeNumbers {
 public:
  void forget() {
    last_ = kRoot;
    of_address_.clear();
  }
  std::uint64_t next() { return ++last_; }
  std::uint64_t of(const void* address) {
    const auto [found, is_new] = of_address_.try_emplace(address, 0);
    if (is_new) found->second = next();
    return found->second;
  }

 private:
  static constexpr std::uint64_t kRoot = 1;
  std::uint64_t last_ = kRoot;
  std::unordered_map<const void*, std::uint64_t> of_address_;
};

// The four lists that belong together.
class NodeValues {
 public:
  void add(const c10::IValue& value, NodeNumbers& numbers);
  // The lists as C strings, valid until the next add().
  sonde_et_values lists();

 private:
  void begin_element();
  void put_tensor(const at::Tensor& tensor, NodeNumbers& numbers);
  void put_items(c10::ArrayRef<c10::IValue> items, NodeNumbers& numbers);
  void put(const c10::IValue& value, NodeNumbers& numbers);
  void put_single(const c10::IValue& value);

  // Without the closing bracket until lists() is called.
  std::string values_ = "[";
  std::string shapes_ = "[";
  std::string types_ = "[";
  std::string strides_ = "[";
  bool is_first_ = true;
  bool is_closed_ = false;
};

sonde_et_text et_text(std::string_view text);
void append_json(std::string& out, std::string_view text);

}  // namespace sonde::torch
