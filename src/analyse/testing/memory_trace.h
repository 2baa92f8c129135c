// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Small traces of operators, tensors and allocations for tests, in microseconds. A tensor is
// identified by the address of its storage and is on cuda:0.
//
//   MemoryTrace t;
//   t.op("aten::mm", 0, 10, {0x100, 0x200});   // receives two tensors of 256 floats
//   t.alloc(5, 0x300, 1024);
//   const MemoryProfile memory = memory_profile(t.build());

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "analyse/testing/op_trace.h"
#include "sonde/analyse/memory.h"
#include "trace/known_names.h"

namespace sonde::testing {

class MemoryTrace {
 public:
  static constexpr std::int64_t kTensorBytes = 1024;

  OpTrace::Span op(std::string_view name, Nanos start_us, Nanos end_us,
                   std::initializer_list<std::uint64_t> tensors = {}) {
    OpTrace::Span span = ops_.op(name, start_us, end_us);
    if (tensors.size() > 0) add_tensors(span.span(), tensors);
    return span;
  }
  // Calls a gradient as autograd does.
  void backward(std::string_view name, Nanos start_us, Nanos end_us,
                std::initializer_list<std::uint64_t> tensors = {}) {
    op(name, start_us, end_us, tensors).scope(RecordScope::BackwardFunction);
  }
  // The last step of a gradient: it is added to the parameter's.
  void accumulate(Nanos start_us, std::uint64_t gradient) {
    backward("torch::autograd::AccumulateGrad", start_us, start_us + 3, {gradient});
    op("aten::detach", start_us + 1, start_us + 2, {gradient});
  }
  void step(std::int64_t number, Nanos start_us, Nanos end_us) {
    const OpTrace::Span span = ops_.span(std::string(kStepPrefix) + std::to_string(number),
                                         SpanKind::Step, ops_.main(), start_us, end_us);
    ops_.builder().spans().step.set(span.span(), number);
  }

  void alloc(Nanos time_us, std::uint64_t address, std::int64_t bytes) {
    allocated_ += bytes;
    add_allocation(time_us, address, bytes, 0);
  }
  void free(Nanos time_us, std::uint64_t address, std::int64_t bytes) {
    allocated_ -= bytes;
    add_allocation(time_us, address, -bytes, 0);
  }
  // Adds the row unchanged and leaves the total alone.
  void raw(Nanos time_us, std::uint64_t address, std::int64_t bytes) {
    add_allocation(time_us, address, bytes, 0);
  }
  void out_of_memory(Nanos time_us, std::int64_t bytes) {
    add_allocation(time_us, 0, bytes, AllocationFlags::kOutOfMemory);
  }
  // The program says what the tensor at this address is for.
  void role(Nanos time_us, std::uint64_t address, TensorPurpose purpose) {
    ops_.builder().tensor_roles().push_back({.time_ns = time_us * 1000,
                                             .track = ops_.main(),
                                             .purpose = purpose,
                                             .storage_address = address});
  }
  // Sets what was allocated before.
  void had(std::int64_t bytes) { allocated_ += bytes; }

  OpTrace& ops() { return ops_; }
  Trace build() { return ops_.build(); }

 private:
  void add_allocation(Nanos time_us, std::uint64_t address, std::int64_t bytes,
                      std::uint8_t flags) {
    AllocationRow row;
    row.time_ns = time_us * 1000;
    row.track = ops_.main();
    row.address = address;
    row.bytes = bytes;
    row.total_allocated_bytes = allocated_;
    row.total_reserved_bytes = allocated_ + 4096;
    row.device_type = DeviceType::Cuda;
    row.device_index = 0;
    row.flags = flags;
    ops_.builder().allocations().push_back(row);
  }

  void add_tensors(SpanId span, std::initializer_list<std::uint64_t> tensors) {
    TraceBuilder& builder = ops_.builder();
    const auto first = OpArgumentId(builder.op_arguments().size());
    std::int32_t index = 0;
    for (const std::uint64_t address : tensors) {
      OpArgumentRow argument;
      argument.index = index;
      argument.kind = ArgumentKind::Tensor;
      argument.dtype = builder.intern("float");
      argument.dims_first = builder.dims().push_back({kTensorBytes / 4});
      argument.dims_count = 1;
      argument.strides_first = builder.dims().push_back({1});
      argument.strides_count = 1;
      argument.device_type = DeviceType::Cuda;
      argument.device_index = 0;
      builder.op_arguments().push_back(argument);
      builder.tensor_uses().push_back(
          {.span = span, .index = index, .tensor_address = address, .storage_address = address});
      ++index;
    }
    builder.spans().arguments.set(span, builder.argument_lists().push_back({first, index}));
  }

  OpTrace ops_;
  std::int64_t allocated_ = 0;
};

}  // namespace sonde::testing
