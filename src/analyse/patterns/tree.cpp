// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/patterns/tree.h"

#include <algorithm>
#include <array>

#include "analyse/name_place.h"

namespace sonde::detail {
namespace {

constexpr std::uint32_t kNone = SpanId::kInvalid;

struct Rule {
  Word word;
  NamePlace place;
  std::string_view text;
};

constexpr std::array<Rule, 25> kRules = {{
    {Word::To, NamePlace::Whole, "aten::to"},
    {Word::ToCopy, NamePlace::Whole, "aten::_to_copy"},
    {Word::Copy, NamePlace::Whole, "aten::copy_"},
    {Word::FillsTensor, NamePlace::Whole, "aten::fill_"},
    {Word::FillsTensor, NamePlace::Whole, "aten::zero_"},
    {Word::FillsTensor, NamePlace::Whole, "aten::normal_"},
    {Word::FillsTensor, NamePlace::Whole, "aten::uniform_"},
    {Word::Select, NamePlace::Whole, "aten::select"},
    {Word::Mm, NamePlace::Whole, "aten::mm"},
    {Word::MatMul, NamePlace::Whole, "aten::mm"},
    {Word::MatMul, NamePlace::Whole, "aten::bmm"},
    {Word::MatMul, NamePlace::Whole, "aten::addmm"},
    {Word::SingleTensorOptimizer, NamePlace::End, "_single_tensor_adam"},
    {Word::SingleTensorOptimizer, NamePlace::End, "_single_tensor_sgd"},
    {Word::SingleTensorOptimizer, NamePlace::End, "_single_tensor_adamw"},
    {Word::LoaderNext, NamePlace::Begin, "enumerate(DataLoader)#_SingleProcessDataLoaderIter"},
    {Word::ZeroGrad, NamePlace::End, ": zero_grad"},
    {Word::Zero, NamePlace::Whole, "aten::zero_"},
    {Word::Zeros, NamePlace::Whole, "aten::zeros"},
    {Word::Conv2d, NamePlace::Whole, "aten::conv2d"},
    {Word::ModuleConv2d, NamePlace::Begin, "nn.Module: Conv2d"},
    {Word::ModuleBatchNorm2d, NamePlace::Begin, "nn.Module: BatchNorm2d"},
    {Word::AddInPlace, NamePlace::Whole, "aten::add_"},
    {Word::Fp32Product, NamePlace::Anywhere, "sgemm"},
    {Word::Fp32Product, NamePlace::Anywhere, "gemm_f32f32_f32f32_f32"},
}};

constexpr std::string_view kDataLoader = "torch/utils/data/dataloader.py";
constexpr std::array<Rule, 4> kLoaderRules = {{
    {Word::LoaderIter, NamePlace::End, "__iter__"},
    {Word::LoaderGetIterator, NamePlace::End, "_get_iterator"},
    {Word::LoaderCheckWorkers, NamePlace::End, "check_worker_number_rationality"},
    {Word::LoaderNext, NamePlace::End, ": __next__"},
}};

}  // namespace

std::uint32_t words_of(std::string_view name) {
  std::uint32_t words = 0;
  const auto look = [&](const auto& rules) {
    for (const Rule& rule : rules) {
      if (has_text(name, rule.place, rule.text)) words |= static_cast<std::uint32_t>(rule.word);
    }
  };
  look(kRules);
  if (name.starts_with(kDataLoader)) look(kLoaderRules);
  return words;
}

PatternTree::PatternTree(const Trace& trace) : trace_(trace) {
  const SpanTable& spans = trace.spans();
  words_.reserve(trace.strings().size());
  for (std::size_t i = 0; i < trace.strings().size(); ++i)
    words_.push_back(words_of(trace.string(StringId(i))));

  const std::size_t count = spans.size();
  first_child_.assign(count, kNone);
  last_child_.assign(count, kNone);
  next_.assign(count, kNone);
  previous_.assign(count, kNone);
  TrackId track;
  std::uint32_t first_root = kNone;
  std::uint32_t last_root = kNone;
  for (const SpanId span : trace.all_spans()) {
    if (spans.track[span] != track) {
      track = spans.track[span];
      first_root = last_root = kNone;
    }
    if ((spans.flags[span] & SpanFlags::kAsync) != 0) continue;
    const StringId name = spans.name[span];
    if (name.valid() && words_[name.index()] != 0) named_.push_back(span);
    const SpanId around = spans.parent[span];
    if (around.valid()) {
      append(span, first_child_[around.index()], last_child_[around.index()]);
    } else {
      append(span, first_root, last_root);
    }
  }
}

void PatternTree::append(SpanId span, std::uint32_t& first, std::uint32_t& last) {
  if (first == kNone) first = span.value();
  if (last != kNone) {
    next_[last] = span.value();
    previous_[span.index()] = last;
  }
  last = span.value();
}

}  // namespace sonde::detail
