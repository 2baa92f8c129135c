// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/patterns/savings.h"

#include "base/sum.h"

namespace sonde::detail {

void PatternSavings::add_work(Stretches& to, SpanId first, SpanId last) const {
  for (const Launch& launch : launches_.below(first, last)) add_span(to, launch.work);
}

// The call, and the device work that it launched.
void PatternSavings::add_call(Stretches& to, SpanId span) const {
  add_span(to, span);
  add_work(to, span, span);
}

// Only the device work. If it ran on the host, the call is the work.
void PatternSavings::add_kernels(Stretches& to, SpanId span) const {
  const std::size_t before = to.size();
  add_work(to, span, span);
  if (to.size() == before) add_span(to, span);
}

// The addition of the bias, if it is a separate call.
void PatternSavings::add_bias(Stretches& to, SpanId conv2d) const {
  const std::size_t before = to.size();
  const std::uint32_t end = rows_end(trace_, conv2d);
  for (std::uint32_t row = conv2d.value() + 1; row < end; ++row) {
    if (tree_.is(SpanId(row), Word::AddInPlace)) add_call(to, SpanId(row));
  }
  if (to.size() == before) add_kernels(to, conv2d);
}

// The time that loading took on threads that load synchronously.
void PatternSavings::add_batches(Stretches& to, const std::vector<SpanId>& loaders) const {
  std::vector<bool> loads(trace_.tracks().size());
  for (const SpanId loader : loaders) {
    const TrackId track = trace_.spans().track[loader];
    if (track.valid()) loads[track.index()] = true;
  }
  for (std::size_t track = 0; track < loads.size(); ++track) {
    if (!loads[track]) continue;
    for (const SpanId span : trace_.track_spans(TrackId(track))) {
      if (tree_.is(span, Word::LoaderNext)) add_span(to, span);
    }
  }
}

Nanos PatternSavings::of(Pattern pattern, const std::vector<SpanId>& matched) const {
  Stretches all;
  if (pattern == Pattern::SynchronizedDataLoader) add_batches(all, matched);
  std::uint32_t counted = 0;  // rows up to here are part of a match
  for (const SpanId span : matched) {
    if (span.value() < counted) continue;
    counted = rows_end(trace_, span);
    switch (pattern) {
      case Pattern::ExtraCudaCopy:
      case Pattern::OptimizerSingleTensor:
        add_call(all, span);
        break;
      case Pattern::Fp32MatMul:
      case Pattern::MatMulDimInFp16:
        add_kernels(all, span);
        break;
      case Pattern::GradientNotSetToNone:
        for (const SpanId zero : rules_.zeroed_below(span)) add_call(all, zero);
        break;
      case Pattern::Conv2dBiasBatchNorm:
        add_bias(all, span);
        break;
      case Pattern::ForLoopIndexing:
      case Pattern::SynchronizedDataLoader:
        break;
    }
  }
  return all.united().total_ns();
}

Nanos PatternSavings::of(const std::vector<IndexingLoop>& loops) const {
  Nanos total_ns = 0;
  for (const IndexingLoop& loop : loops) {
    Stretches all;
    all.add(trace_.spans().start_ns[loop.first], trace_.end_ns(loop.last));
    add_work(all, loop.first, loop.last);
    const Nanos time_ns = all.united().total_ns();
    add_to(total_ns, time_ns - time_ns / loop.rounds);
  }
  return total_ns;
}

}  // namespace sonde::detail
