// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/tool_ranges.h"

#include <ATen/record_function.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "sonde/source/range_source.h"

namespace sonde::torch {
namespace {

// The tools that want ranges now; read by callbacks.
std::atomic<std::uint32_t> tools{0};
std::atomic<bool> shapes{false};

// Which operator made a tensor, and which of its results it is. Tensors are identified by address.
// As in PyTorch, a new one at a reused address may be taken for the old one.
struct Producer {
  std::uint64_t op_id = 0;
  int output = -1;
};

class Producers {
 public:
  void remember(const at::RecordFunction& fn) {
    const std::lock_guard lock(mutex_);
    int output = 0;
    for (const c10::IValue& value : fn.outputs()) {
      if (value.isTensor() && value.toTensor().defined())
        of_tensor_[value.toTensor().unsafeGetTensorImpl()] = {fn.handle(), output};
      ++output;
    }
  }
  Producer of(const at::Tensor& tensor) {
    if (!tensor.defined()) return {};
    const std::lock_guard lock(mutex_);
    const auto found = of_tensor_.find(tensor.unsafeGetTensorImpl());
    return found != of_tensor_.end() ? found->second : Producer{};
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    of_tensor_.clear();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, Producer> of_tensor_;
};

Producers& producers() {
  static auto* const only = new Producers;
  return *only;
}

// Builds a text such as "[a, b]".
class ListText {
 public:
  void add(const std::string& item) {
    text_ += text_.empty() ? "[" : ", ";
    text_ += item;
  }
  bool empty() const { return text_.empty(); }
  std::string text() const { return text_.empty() ? "[]" : text_ + "]"; }

 private:
  std::string text_;
};

std::string sizes_text(const at::Tensor& tensor) {
  ListText list;
  if (tensor.defined()) {
    for (const std::int64_t size : tensor.sizes()) list.add(std::to_string(size));
  }
  return list.text();
}

std::string producer_text(Producer producer) {
  return "(" + std::to_string(producer.op_id) + "," + std::to_string(producer.output) + ")";
}

// An operator's inputs in PyTorch's format. The tensors of a list count as inputs of their own.
// Anything that is not a tensor has no size and no producer.
struct InputsText {
  ListText sizes;
  ListText producers;

  void add(const c10::IValue& input) {
    if (input.isTensor()) {
      add_tensor(input.toTensor());
    } else if (input.isList()) {
      add_list(input.toList());
    } else {
      add_nothing();
    }
  }

 private:
  void add_tensor(const at::Tensor& tensor) {
    sizes.add(sizes_text(tensor));
    producers.add(producer_text(torch::producers().of(tensor)));
  }
  // If no tensor of the list is defined, only the producers are listed.
  void add_list(const c10::List<c10::IValue>& list) {
    bool has_sizes = false;
    bool has_tensors = false;
    for (const c10::IValue& element : list) {
      if (!element.isTensor()) continue;
      const at::Tensor& tensor = element.toTensor();
      if (tensor.defined()) sizes.add(sizes_text(tensor));
      has_sizes = has_sizes || tensor.defined();
      producers.add(producer_text(torch::producers().of(tensor)));
      has_tensors = true;
    }
    if (!has_sizes) sizes.add("[]");
    if (!has_tensors) producers.add(producer_text({}));
  }
  void add_nothing() {
    sizes.add("[]");
    producers.add(producer_text({}));
  }
};

// "aten::mm, seq = 12, op_id = 345, sizes = [[10, 20], [20, 30]], input_op_ids = [(340,0), (0,-1)]"
std::string nvtx_name(const at::RecordFunction& fn, bool with_inputs) {
  std::string name = fn.name();
  if (fn.seqNr() >= 0) name += ", seq = " + std::to_string(fn.seqNr());
  if (fn.handle() > 0) name += ", op_id = " + std::to_string(fn.handle());
  if (!with_inputs) return name;
  InputsText inputs;
  for (const c10::IValue& input : fn.inputs()) inputs.add(input);
  if (!inputs.sizes.empty()) name += ", sizes = " + inputs.sizes.text();
  if (!inputs.producers.empty()) name += ", input_op_ids = " + inputs.producers.text();
  return name;
}

struct ToldContext : at::ObserverContext {
  sonde_range nvtx = {0, 0};
  sonde_range itt = {0, 0};
  bool has_outputs = false;
};

std::unique_ptr<at::ObserverContext> on_range_begin(const at::RecordFunction& fn) {
  auto context = std::make_unique<ToldContext>();
  const std::uint32_t who = tools.load(std::memory_order_relaxed);
  context->has_outputs = shapes.load(std::memory_order_relaxed);
  if ((who & SONDE_TOOL_NVTX) != 0) {
    const std::string name = nvtx_name(fn, context->has_outputs);
    context->nvtx = sonde_tell_begin(SONDE_TOOL_NVTX, name.c_str());
  }
  if ((who & SONDE_TOOL_ITT) != 0) context->itt = sonde_tell_begin(SONDE_TOOL_ITT, fn.name());
  return context;
}

void on_range_end(const at::RecordFunction& fn, at::ObserverContext* begun) {
  auto* const context = static_cast<ToldContext*>(begun);
  if (context == nullptr) return;
  sonde_range_end(context->itt);
  sonde_range_end(context->nvtx);
  if (context->has_outputs) producers().remember(fn);
}

class ToolRanges {
 public:
  void listen(std::uint32_t who, bool with_shapes) {
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    if (is_on_) at::removeCallback(callback_);
    is_on_ = who != 0;
    tools.store(who);
    shapes.store(with_shapes);
    if (!with_shapes) producers().forget();
    if (!is_on_) return;
    callback_ = at::addGlobalCallback(at::RecordFunctionCallback(&on_range_begin, &on_range_end)
                                          .needsInputs(with_shapes)
                                          .needsOutputs(with_shapes)
                                          .needsIds(true));
  }
  void end() {
    listen(0, false);
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }

 private:
  std::mutex mutex_;
  bool is_on_ = false;
  bool is_over_ = false;
  at::CallbackHandle callback_ = 0;
};

// Leaked: callbacks may run while the program's statics are destroyed.
ToolRanges& tool_ranges() {
  static auto* const only = new ToolRanges;
  return *only;
}

void listen(std::uint32_t who, int record_shapes) {
  tool_ranges().listen(who, record_shapes != 0);
}

const sonde_range_source kRangeSource = {sizeof(kRangeSource), listen};

}  // namespace

void attach_tool_ranges() {
  sonde_add_range_source(&kRangeSource);
}

void end_tool_ranges() {
  tool_ranges().end();
}

}  // namespace sonde::torch
