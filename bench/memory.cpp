// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How long it takes to find what held memory, from an open trace, on one thread.
//
//   build/release/bin/bench_memory [page.html]
//
// With a file name, the page of the smaller trace is written there. The traces have 1 and 10
// million allocations and releases: training steps in which every operator reads two tensors and
// makes one, and gradients free them again.

#include <cstdio>
#include <string>

#include "bench/measure.h"
#include "sonde/analyse/memory_report.h"
#include "sonde/trace/builder.h"
#include "sonde/view/memory_timeline.h"

namespace sonde::bench {
namespace {

constexpr std::uint64_t kParameters = 64;
constexpr std::int64_t kBytes = 4096;

// A sequence of operators, each with its arguments and its allocation.
class Training {
 public:
  Training() {
    track_ = builder_.tracks().push_back({.process = builder_.processes().push_back({.pid = 1})});
    for (int i = 0; i < 2; ++i) {
      OpArgumentRow argument;
      argument.index = i;
      argument.kind = ArgumentKind::Tensor;
      argument.dtype = builder_.intern("float");
      argument.dims_first = builder_.dims().push_back({kBytes / 4});
      argument.dims_count = 1;
      argument.strides_first = builder_.dims().push_back({1});
      argument.strides_count = 1;
      argument.device_type = DeviceType::Cuda;
      argument.device_index = 0;
      builder_.op_arguments().push_back(argument);
    }
    arguments_ = builder_.argument_lists().push_back({OpArgumentId(0), 2});
    mm_ = builder_.intern("aten::mm");
    backward_ = builder_.intern("MmBackward0");
    accumulate_ = builder_.intern("torch::autograd::AccumulateGrad");
    detach_ = builder_.intern("aten::detach");
    add_ = builder_.intern("aten::add_");
  }

  void step(std::uint64_t layers) {
    const std::uint64_t input = take();
    std::uint64_t last = input;
    for (std::uint64_t i = 0; i < layers; ++i) {
      const SpanId span = op(mm_, RecordScope::Function, last, parameter(i));
      activations_.push_back(last = take(span));
    }
    for (std::uint64_t i = layers; i-- > 0;) {
      const SpanId gradient =
          op(backward_, RecordScope::BackwardFunction, activations_[i], parameter(i));
      const std::uint64_t made = take(gradient);
      give(activations_[i], gradient);
      op(accumulate_, RecordScope::BackwardFunction, made, made);
      time_ns_ -= 900;  // within
      op(detach_, RecordScope::Function, made, made, 100);
      gradients_.push_back(made);
    }
    for (std::uint64_t i = 0; i < layers; ++i) {
      op(add_, RecordScope::Function, parameter(i), gradients_[i]);
      give(gradients_[i], SpanId());
    }
    give(input, SpanId());
    activations_.clear();
    gradients_.clear();
  }

  std::size_t events() { return builder_.allocations().size(); }
  Trace build() {
    Result<Trace> trace = std::move(builder_).build();
    if (!trace) std::abort();
    return *std::move(trace);
  }

 private:
  static std::uint64_t parameter(std::uint64_t i) { return 0x1000 + i % kParameters; }

  SpanId op(StringId name, RecordScope scope, std::uint64_t a, std::uint64_t b,
            Nanos duration_ns = 900) {
    time_ns_ += 1000;
    const SpanId span = builder_.spans().push_back({.start_ns = time_ns_,
                                                    .duration_ns = duration_ns,
                                                    .name = name,
                                                    .track = track_,
                                                    .kind = SpanKind::CpuOp,
                                                    .scope = scope,
                                                    .sequence_number = name == mm_ ? 1 : -1,
                                                    .arguments = arguments_});
    builder_.tensor_uses().push_back({.span = span, .index = 0, .storage_address = a});
    builder_.tensor_uses().push_back({.span = span, .index = 1, .storage_address = b});
    return span;
  }
  // Like a caching allocator: what came back last is handed out first.
  std::uint64_t take(SpanId span = {}) {
    if (free_.empty()) free_.push_back(next_ += kBytes);
    const std::uint64_t address = free_.back();
    free_.pop_back();
    allocation(address, kBytes, span);
    return address;
  }
  void give(std::uint64_t address, SpanId span) {
    allocation(address, -kBytes, span);
    free_.push_back(address);
  }
  void allocation(std::uint64_t address, std::int64_t bytes, SpanId span) {
    time_ns_ += 10;
    builder_.allocations().push_back({.time_ns = time_ns_,
                                      .track = track_,
                                      .address = address,
                                      .bytes = bytes,
                                      .device_type = DeviceType::Cuda,
                                      .device_index = 0,
                                      .span = span});
  }

  TraceBuilder builder_;
  TrackId track_;
  ArgumentListId arguments_;
  StringId mm_, backward_, accumulate_, detach_, add_;
  Nanos time_ns_ = 1'000'000;
  std::uint64_t next_ = std::uint64_t{1} << 40;
  std::vector<std::uint64_t> free_, activations_, gradients_;
};

void measure(std::size_t wanted, const char* path) {
  Training training;
  while (training.events() < wanted) training.step(1000);
  const Trace trace = training.build();
  double best_profile = 0;
  double best_report = 0;
  double best_page = 0;
  std::size_t page_bytes = 0;
  MemoryPeak peak;
  for (int run = 0; run < 3; ++run) {
    const double start = process_cpu_ns();
    const MemoryProfile profile = memory_profile(trace);
    const double have_profile = process_cpu_ns();
    const DeviceMemory& device = **profile.find("cuda:0");
    const MemoryMoment moment = memory_moment(profile, device, device.peak.event);
    const std::vector<OpMemory> ops = memory_by_op(profile, device);
    const double have_report = process_cpu_ns();
    const Result<std::string> page = memory_page(profile, device);
    const double have_page = process_cpu_ns();
    const auto keep = [run](double& best, double value) {
      if (run == 0 || value < best) best = value;
    };
    keep(best_profile, have_profile - start);
    keep(best_report, have_report - have_profile);
    keep(best_page, have_page - have_report);
    page_bytes = page ? page->size() : 0;
    if (path != nullptr && run == 0 && !export_memory_timeline(profile, device, path))
      std::fprintf(stderr, "bench_memory: cannot write %s\n", path);
    peak = device.peak;
  }
  const auto events = static_cast<double>(trace.allocations().size());
  std::printf("%12zu %12zu %11.1f %13.2f %10.1f %9.1f %8.1f %10lld\n", trace.allocations().size(),
              trace.spans().size(), best_profile / 1e6, events / best_profile * 1e3,
              best_report / 1e6, best_page / 1e6, static_cast<double>(page_bytes) / 1e6,
              static_cast<long long>(peak.live_bytes));
  std::fflush(stdout);
}

}  // namespace
}  // namespace sonde::bench

int main(int argc, char** argv) {
  sonde::bench::explain_if_asked(argc, argv, "bench_memory [PAGE.html, to keep it]");
  std::printf("%12s %12s %11s %13s %10s %9s %8s %10s\n", "allocations", "operators", "profile ms",
              "M a second", "report ms", "page ms", "page MB", "peak bytes");
  sonde::bench::measure(1'000'000, argc > 1 ? argv[1] : nullptr);
  sonde::bench::measure(10'000'000, nullptr);
  return 0;
}
