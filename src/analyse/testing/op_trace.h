// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Small traces of operators for tests, in microseconds.
//
//   OpTrace t;
//   t.op("aten::mm", 100, 400).id(2).tensor({10, 20}).tensor({20, 30});
//   t.kernel("gemm", 120, 370).launched_by(2);
//   const EventList events = function_events(t.build());

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sonde/trace/builder.h"

namespace sonde::testing {

class OpTrace {
 public:
  class Span {
   public:
    Span(OpTrace& trace, SpanId span) : trace_(&trace), span_(span) {}
    SpanId span() const { return span_; }

    Span& id(std::int64_t external_id) { return set(spans().external_id, external_id); }
    Span& launched_by(std::int64_t external_id) { return id(external_id); }
    Span& correlation(std::int64_t number) { return set(spans().correlation, number); }
    Span& sequence(std::int64_t number) { return set(spans().sequence_number, number); }
    Span& forward_thread(std::int64_t thread) { return set(spans().forward_thread, thread); }
    Span& scope(RecordScope scope) { return set(spans().scope, scope); }
    Span& async() { return set(spans().flags, SpanFlags::kAsync); }
    Span& overload(std::string_view name) {
      return set(spans().overload_name, trace_->builder_.intern(name));
    }

    Span& tensor(std::initializer_list<std::int64_t> sizes, std::string_view dtype = "") {
      OpArgumentRow row;
      row.kind = ArgumentKind::Tensor;
      if (!dtype.empty()) row.dtype = trace_->builder_.intern(dtype);
      row.dims_count = static_cast<std::int32_t>(sizes.size());
      for (const std::int64_t size : sizes) {
        const DimId dim = trace_->builder_.dims().push_back({size});
        if (!row.dims_first.valid()) row.dims_first = dim;
      }
      return argument(row);
    }
    Span& scalar(std::string_view text, ArgumentKind kind = ArgumentKind::Scalar) {
      OpArgumentRow row;
      row.kind = kind;
      row.value = trace_->builder_.intern(text);
      return argument(row);
    }
    Span& none() { return argument({}); }

    // Innermost first.
    Span& stack(std::initializer_list<std::string_view> frames) {
      const std::vector<std::string_view> inner_first(frames);
      StackId outer;
      for (auto frame = inner_first.rbegin(); frame != inner_first.rend(); ++frame) {
        FrameRow row;
        row.function = trace_->builder_.intern(*frame);
        const FrameId id = trace_->builder_.frames().push_back(row);
        outer = trace_->builder_.stacks().push_back({id, outer});
      }
      return set(spans().stack, outer);
    }

   private:
    SpanTable& spans() { return trace_->builder_.spans(); }
    template <typename Column, typename Value>
    Span& set(Column& column, Value value) {
      column.set(span_, value);
      return *this;
    }
    // Add a span's arguments one after the other, before those of the next span.
    Span& argument(OpArgumentRow row) {
      ArgumentListTable& lists = trace_->builder_.argument_lists();
      if (!spans().arguments[span_].valid()) {
        spans().arguments.set(
            span_, lists.push_back({OpArgumentId(trace_->builder_.op_arguments().size()), 0}));
      }
      const ArgumentListId list = spans().arguments[span_];
      row.index = lists.count[list];
      trace_->builder_.op_arguments().push_back(row);
      lists.count.set(list, row.index + 1);
      return *this;
    }

    OpTrace* trace_;
    SpanId span_;
  };

  OpTrace() {
    process_ = builder_.processes().push_back({.pid = 100});
    main_ = thread(100);
    stream_ = builder_.tracks().push_back(
        {.process = process_, .kind = TrackKind::Stream, .id = 7, .device_index = 0});
    builder_.windows().push_back({.process = process_, .start_ns = 0, .end_ns = 1'000'000});
  }

  TraceBuilder& builder() { return builder_; }
  TrackId main() const { return main_; }
  TrackId thread(std::int64_t tid) {
    return builder_.tracks().push_back({.process = process_, .id = tid});
  }
  void flag(std::string_view key) {
    builder_.metadata().push_back({process_, builder_.intern(key), builder_.intern("1")});
  }

  Span span(std::string_view name, SpanKind kind, TrackId track, Nanos start_us, Nanos end_us) {
    return {*this, builder_.spans().push_back({.start_ns = start_us * 1000,
                                               .duration_ns = (end_us - start_us) * 1000,
                                               .name = builder_.intern(name),
                                               .track = track,
                                               .kind = kind})};
  }
  Span op(std::string_view name, Nanos start_us, Nanos end_us) {
    return span(name, SpanKind::CpuOp, main_, start_us, end_us);
  }
  Span step(std::int64_t number, Nanos start_us, Nanos end_us) {
    Span made =
        span("ProfilerStep#" + std::to_string(number), SpanKind::Step, main_, start_us, end_us);
    builder_.spans().step.set(made.span(), number);
    return made;
  }
  Span annotation(std::string_view name, Nanos start_us, Nanos end_us) {
    return span(name, SpanKind::UserAnnotation, main_, start_us, end_us);
  }
  Span python(std::string_view name, Nanos start_us, Nanos end_us) {
    return span(name, SpanKind::PythonFunction, main_, start_us, end_us);
  }
  Span runtime(std::string_view name, Nanos start_us, Nanos end_us) {
    return span(name, SpanKind::CudaRuntime, main_, start_us, end_us);
  }
  Span on_stream(std::string_view name, SpanKind kind, Nanos start_us, Nanos end_us) {
    return span(name, kind, stream_, start_us, end_us);
  }
  Span kernel(std::string_view name, Nanos start_us, Nanos end_us) {
    return on_stream(name, SpanKind::Kernel, start_us, end_us);
  }
  Span gpu_annotation(std::string_view name, Nanos start_us, Nanos end_us) {
    return span(name, SpanKind::GpuUserAnnotation, stream_, start_us, end_us);
  }
  void memory(Nanos time_us, std::int64_t bytes, DeviceType device = DeviceType::Cpu) {
    builder_.allocations().push_back(
        {.time_ns = time_us * 1000, .track = main_, .bytes = bytes, .device_type = device});
  }
  void out_of_memory(Nanos time_us, std::int64_t bytes) {
    builder_.allocations().push_back({.time_ns = time_us * 1000,
                                      .track = main_,
                                      .bytes = bytes,
                                      .device_type = DeviceType::Cpu,
                                      .flags = AllocationFlags::kOutOfMemory});
  }

  Trace build() {
    Result<Trace> trace = std::move(builder_).build();
    if (!trace) std::abort();
    return *std::move(trace);
  }

 private:
  TraceBuilder builder_;
  ProcessId process_;
  TrackId main_;
  TrackId stream_;
};

}  // namespace sonde::testing
