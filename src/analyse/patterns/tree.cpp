// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/patterns/tree.h"

#include <algorithm>
#include <array>

namespace sonde::detail {
namespace {

constexpr std::uint32_t kNone = SpanId::kInvalid;

enum class Where : std::uint8_t { Whole, Begin, End, Anywhere };

struct Rule {
  Word word;
  Where where;
  std::string_view text;
};

constexpr std::array<Rule, 25> kRules = {{
    {Word::To, Where::Whole, "aten::to"},
    {Word::ToCopy, Where::Whole, "aten::_to_copy"},
    {Word::Copy, Where::Whole, "aten::copy_"},
    {Word::FillsTensor, Where::Whole, "aten::fill_"},
    {Word::FillsTensor, Where::Whole, "aten::zero_"},
    {Word::FillsTensor, Where::Whole, "aten::normal_"},
    {Word::FillsTensor, Where::Whole, "aten::uniform_"},
    {Word::Select, Where::Whole, "aten::select"},
    {Word::Mm, Where::Whole, "aten::mm"},
    {Word::MatMul, Where::Whole, "aten::mm"},
    {Word::MatMul, Where::Whole, "aten::bmm"},
    {Word::MatMul, Where::Whole, "aten::addmm"},
    {Word::SingleTensorOptimizer, Where::End, "_single_tensor_adam"},
    {Word::SingleTensorOptimizer, Where::End, "_single_tensor_sgd"},
    {Word::SingleTensorOptimizer, Where::End, "_single_tensor_adamw"},
    {Word::LoaderNext, Where::Begin, "enumerate(DataLoader)#_SingleProcessDataLoaderIter"},
    {Word::ZeroGrad, Where::End, ": zero_grad"},
    {Word::Zero, Where::Whole, "aten::zero_"},
    {Word::Zeros, Where::Whole, "aten::zeros"},
    {Word::Conv2d, Where::Whole, "aten::conv2d"},
    {Word::ModuleConv2d, Where::Begin, "nn.Module: Conv2d"},
    {Word::ModuleBatchNorm2d, Where::Begin, "nn.Module: BatchNorm2d"},
    {Word::AddInPlace, Where::Whole, "aten::add_"},
    {Word::Fp32Product, Where::Anywhere, "sgemm"},
    {Word::Fp32Product, Where::Anywhere, "gemm_f32f32_f32f32_f32"},
}};

constexpr std::string_view kDataLoader = "torch/utils/data/dataloader.py";
constexpr std::array<Rule, 4> kLoaderRules = {{
    {Word::LoaderIter, Where::End, "__iter__"},
    {Word::LoaderGetIterator, Where::End, "_get_iterator"},
    {Word::LoaderCheckWorkers, Where::End, "check_worker_number_rationality"},
    {Word::LoaderNext, Where::End, ": __next__"},
}};

bool applies(const Rule& rule, std::string_view name) {
  switch (rule.where) {
    case Where::Whole:
      return name == rule.text;
    case Where::Begin:
      return name.starts_with(rule.text);
    case Where::End:
      return name.ends_with(rule.text);
    case Where::Anywhere:
      return name.find(rule.text) != std::string_view::npos;
  }
  return false;
}

}  // namespace

std::uint32_t words_of(std::string_view name) {
  std::uint32_t words = 0;
  const auto look = [&](const auto& rules) {
    for (const Rule& rule : rules) {
      if (applies(rule, name)) words |= static_cast<std::uint32_t>(rule.word);
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
