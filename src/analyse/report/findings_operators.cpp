// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What operators alone show, without Python calls: the same causes as PyTorch's patterns, in
// programs of any language. If both find the same cause, report() keeps the larger saving.

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyse/report/findings.h"
#include "analyse/report/host_work.h"
#include "analyse/report/op_runs.h"
#include "analyse/time/launches.h"
#include "base/format.h"
#include "base/median.h"
#include "base/sum.h"
#include "base/text.h"
#include "sonde/analyse/patterns.h"

namespace sonde::detail {
namespace {

// What an operator does, as far as it matters here.
enum class Role : std::uint8_t {
  Other,
  Element,  // takes one element or row of a tensor
  Zero,     // fills with zeros
  Detach,   // a step of zero_grad()
  Update,   // only optimisers use it
  InPlace,  // in-place arithmetic on a tensor, also part of updates
  Convolution,
  BatchNorm,
  Copy,       // copies into a tensor
  CopyMaker,  // copies its input to the same type and device
  To,         // copies its input to any type and device
  Recurrent,  // needs the result of the round before
};

Role role_of(std::string_view name) {
  static const std::unordered_map<std::string_view, Role> roles = {
      {"aten::select", Role::Element},
      {"aten::narrow", Role::Element},
      {"aten::zero_", Role::Zero},
      {"aten::detach_", Role::Detach},
      {"detach_", Role::Detach},
      {"aten::detach", Role::Detach},
      {"detach", Role::Detach},
      {"aten::requires_grad_", Role::Detach},
      {"aten::addcmul_", Role::Update},
      {"aten::addcdiv_", Role::Update},
      {"aten::lerp_", Role::Update},
      {"aten::add_", Role::InPlace},
      {"aten::mul_", Role::InPlace},
      {"aten::sub_", Role::InPlace},
      {"aten::div_", Role::InPlace},
      {"aten::conv1d", Role::Convolution},
      {"aten::conv2d", Role::Convolution},
      {"aten::conv3d", Role::Convolution},
      {"aten::batch_norm", Role::BatchNorm},
      {"aten::copy_", Role::Copy},
      {"aten::clone", Role::CopyMaker},
      {"aten::contiguous", Role::CopyMaker},
      {"aten::_to_copy", Role::To},
      {"aten::lstm_cell", Role::Recurrent},
      {"aten::gru_cell", Role::Recurrent},
      {"aten::rnn_tanh_cell", Role::Recurrent},
      {"aten::rnn_relu_cell", Role::Recurrent},
  };
  const auto found = roles.find(name);
  return found == roles.end() ? Role::Other : found->second;
}

// Small enough that calling them costs as much as what they do.
constexpr Nanos kSmallOperatorNs = 30'000;
// What takes longer on the host does more than being called.
constexpr Nanos kCallNs = 10'000;
// Indices that ascend by one step nearly always.
constexpr double kLeastSuccessive = 0.8;
constexpr std::size_t kMostTensorsOfALoop = 4;
constexpr std::size_t kMostNamesOfALoop = 4;

// What is known of one cause so far, and what would be different without it.
struct Cause {
  explicit Cause(const ReportData& data) : seen(data), changes(data.program()) {}
  Evidence seen;
  Changes changes;
  Nanos device_ns = 0;  // what the operators launched took
};

class OperatorFindings {
 public:
  OperatorFindings(const ReportData& data, Report& report)
      : data_(data),
        report_(report),
        trace_(report.trace),
        launches_(data.program().launches()),
        elements_(data),
        zeros_(data),
        updates_(data),
        biases_(data),
        copies_(data) {
    find_moves();
    roles_.reserve(trace_.strings().size());
    for (std::size_t i = 0; i < trace_.strings().size(); ++i)
      roles_.push_back(role_of(trace_.strings()[StringId(i)]));
  }

  void run() {
    visit_siblings(trace_, [this](std::span<const SpanId> siblings) {
      if (!is_within_library(siblings.front()))
        for (const OpRun& run : op_runs(trace_, siblings)) look_at(run);
      look_for_biases(siblings);
      for (const SpanId op : siblings) look_for_copy(op);
    });
    say();
  }

 private:
  Role role(SpanId span) const {
    const StringId name = trace_.spans().name[span];
    return name.valid() ? roles_[name.index()] : Role::Other;
  }
  bool is_steady(SpanId span) const { return data_.steady.has(trace_.spans().start_ns[span]); }
  Nanos start_ns(SpanId span) const { return trace_.spans().start_ns[span]; }

  // Whether an operator of a library called it ("aten::bmm" may take its matrices one by one): what
  // repeats there is no loop of the program.
  bool is_within_library(SpanId op) const {
    SpanId parent = trace_.spans().parent[op];
    while (parent.valid() && trace_.spans().kind[parent] == SpanKind::PythonFunction)
      parent = trace_.spans().parent[parent];
    return parent.valid() && is_operator(trace_.spans().kind[parent]) &&
           trace_.name(parent).find("::") != std::string_view::npos;
  }

  void look_at(const OpRun& run) {
    if (!is_steady(run.ops.front())) return;
    const std::span<const SpanId> once = run.ops.first(run.period);
    const auto any = [&](Role wanted) {
      return std::any_of(once.begin(), once.end(), [&](SpanId op) { return role(op) == wanted; });
    };
    const auto all = [&](Role a, Role b) {
      return std::all_of(once.begin(), once.end(),
                         [&](SpanId op) { return role(op) == a || role(op) == b; });
    };
    if (any(Role::Recurrent)) return;
    if (any(Role::Element)) {
      if (is_loop_over_elements(run)) take_all_but_one(run);
    } else if (any(Role::Zero) && all(Role::Zero, Role::Detach)) {
      for (const SpanId op : run.ops) take(zeros_, op);
    } else if (any(Role::Update) || (once.size() > 1 && all(Role::InPlace, Role::Detach))) {
      take_updates(run);
    }
  }

  void take(Cause& cause, SpanId op) {
    cause.seen.add(op, trace_.spans().track[op], start_ns(op), trace_.end_ns(op));
    cause.changes.remove(op);
    for (const Launch& launch : launches_.below(op))
      add_to(cause.device_ns, trace_.spans().duration_ns[launch.work]);
  }

  // Small operators on one element after another: the index ascends wherever it is known.
  bool is_loop_over_elements(const OpRun& run) const {
    std::vector<Nanos> lengths;
    lengths.reserve(run.ops.size());
    for (const SpanId op : run.ops) lengths.push_back(trace_.spans().duration_ns[op]);
    // The median: another process may have taken the processor from any of them.
    if (median(lengths) > kSmallOperatorNs) return false;
    std::vector<std::int64_t> indices;
    for (std::size_t first = 0; first < run.ops.size(); first += run.period)
      if (const std::optional<std::int64_t> index = index_in(run.ops.subspan(first, run.period)))
        indices.push_back(*index);
    if (indices.size() < 2) return true;  // not recorded
    for (std::size_t tensors = 1; tensors <= kMostTensorsOfALoop; ++tensors)
      if (ascends(indices, tensors)) return true;
    return false;
  }

  // Whether the indices ascend in steps of one size, if a loop takes elements of so many tensors in
  // turn.
  static bool ascends(const std::vector<std::int64_t>& indices, std::size_t tensors) {
    if (indices.size() <= tensors) return false;
    const std::int64_t step = difference(indices[tensors], indices[0]);
    std::size_t successive = 0;
    for (std::size_t i = tensors; i < indices.size(); ++i)
      successive += difference(indices[i], indices[i - tensors]) == step ? 1 : 0;
    return step != 0 && static_cast<double>(successive) >=
                            kLeastSuccessive * static_cast<double>(indices.size() - tensors);
  }
  // Wraps around: a trace may have any numbers.
  static std::int64_t difference(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }

  // Which element the first operator that takes one took: its third argument.
  std::optional<std::int64_t> index_in(std::span<const SpanId> ops) const {
    for (const SpanId op : ops) {
      if (role(op) != Role::Element) continue;
      const auto arguments = trace_.arguments(op);
      if (arguments.size() < 3) return std::nullopt;
      const std::string_view text = trace_.string(trace_.op_arguments().value[arguments[2]]);
      std::int64_t index = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
      if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
      return index;
    }
    return std::nullopt;
  }

  // One call in place of all of them could save all but one round, with the code in between, but
  // not what they compute.
  void take_all_but_one(const OpRun& run) {
    const SpanId first = run.ops[run.period];
    const SpanId last = run.ops.back();
    const TrackId thread = trace_.spans().track[first];
    const auto taker = std::find_if(run.ops.begin(), run.ops.end(),
                                    [this](SpanId op) { return role(op) == Role::Element; });
    elements_.seen.add(*taker, thread, start_ns(first), trace_.end_ns(last));
    if (trace_.end_ns(last) - start_ns(first) > longest_loop_ns_) {
      longest_loop_ns_ = trace_.end_ns(last) - start_ns(first);
      names_of_loop_ = names_of(run);
    }
    Nanos from_ns = start_ns(first);
    for (const SpanId op : run.ops.subspan(run.period)) {
      if (!has_work(op)) continue;
      elements_.changes.cut(thread, from_ns, start_ns(op));
      from_ns = trace_.end_ns(op);
    }
    elements_.changes.cut(thread, from_ns, trace_.end_ns(last));
    for (const Launch& launch : launches_.below(first, last))
      elements_.changes.scale(launch.work, 0);
  }

  // On the host, one call for all elements does the same work.
  bool has_work(SpanId op) const {
    return trace_.spans().duration_ns[op] > kCallNs && launches_.below(op).empty() &&
           does_work(trace_, op);
  }

  // "aten::select, aten::item"
  std::string names_of(const OpRun& run) const {
    std::vector<std::string_view> names;
    for (const SpanId op : run.ops.first(run.period))
      if (std::find(names.begin(), names.end(), trace_.name(op)) == names.end())
        names.push_back(trace_.name(op));
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kMostNamesOfALoop); ++i)
      text += (i > 0 ? ", " : "") + std::string(names[i]);
    return text + (names.size() > kMostNamesOfALoop ? ", …" : "");
  }

  // Of no use on the host, where one call for many parameters does the same work one by one. On a
  // device a kernel takes less by what the smallest of them takes, which is mostly its start.
  void take_updates(const OpRun& run) {
    const std::span<const Launch> work = launches_.below(run.ops.front(), run.ops.back());
    if (work.empty()) return;
    const SpanId first = run.ops[run.period];
    const TrackId thread = trace_.spans().track[first];
    updates_.seen.add(run.ops.front(), thread, start_ns(first), trace_.end_ns(run.ops.back()));
    updates_.changes.cut(thread, start_ns(first), trace_.end_ns(run.ops.back()));
    shorten_kernels(updates_.changes, work);
  }

  void shorten_kernels(Changes& changes, std::span<const Launch> work) const {
    Nanos least_ns = trace_.spans().duration_ns[work.front().work];
    for (const Launch& one : work)
      least_ns = std::min(least_ns, trace_.spans().duration_ns[one.work]);
    for (const Launch& one : work) {
      const auto time_ns = static_cast<double>(trace_.spans().duration_ns[one.work]);
      if (time_ns > 0) changes.scale(one.work, 1 - static_cast<double>(least_ns) / time_ns);
    }
  }

  // In between the norm may count its batches.
  void look_for_biases(std::span<const SpanId> siblings) {
    SpanId convolution;
    for (const SpanId op : siblings) {
      if (role(op) == Role::InPlace) continue;
      if (role(op) == Role::BatchNorm && convolution.valid() && has_bias(convolution))
        take_bias(convolution);
      convolution = role(op) == Role::Convolution ? op : SpanId();
    }
  }

  // Where adding it is a call of its own. Libraries that add it on the way take no time for it.
  void take_bias(SpanId convolution) {
    if (!is_steady(convolution)) return;
    const std::uint32_t end = rows_end(trace_, convolution);
    for (std::uint32_t row = convolution.value() + 1; row < end; ++row)
      if (trace_.name(SpanId(row)) == "aten::add_") take(biases_, SpanId(row));
  }

  bool has_bias(SpanId convolution) const {
    const auto arguments = trace_.arguments(convolution);
    for (const OpArgumentId argument : arguments) {
      const OpArgumentTable& table = trace_.op_arguments();
      if (table.role[argument] == ArgumentRole::Input && table.index[argument] == 2)
        return table.kind[argument] == ArgumentKind::Tensor && table.dtype[argument].valid();
    }
    return false;
  }

  void look_for_copy(SpanId op) {
    if (role(op) != Role::Copy || !is_steady(op)) return;
    const SpanId parent = trace_.spans().parent[op];
    if (!parent.valid()) return;
    const bool is_extra =
        role(parent) == Role::CopyMaker || (role(parent) == Role::To && changes_nothing(op));
    if (is_extra) take(copies_, op);
  }

  // Finds where the host asked for copies between itself and a device.
  void find_moves() {
    const CopyTable& copies = trace_.copies();
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (copies.kind[i] != CopyKind::HtoD && copies.kind[i] != CopyKind::DtoH) continue;
      const SpanId call = copies.span[i].valid() ? trace_.spans().launch[copies.span[i]] : SpanId();
      if (call.valid()) moves_.push_back(call.value());
    }
    std::sort(moves_.begin(), moves_.end());
  }

  // Whether a copy's two tensors are known and have the same type and device.
  bool changes_nothing(SpanId copy) const {
    const auto arguments = trace_.arguments(copy);
    if (arguments.size() < 2) return false;
    const OpArgumentTable& table = trace_.op_arguments();
    const OpArgumentId to = arguments[0];
    const OpArgumentId from = arguments[1];
    if (!table.dtype[to].valid() || table.dtype[to] != table.dtype[from]) return false;
    if (table.device_type[to] != table.device_type[from]) return false;
    if (table.device_index[to] != table.device_index[from]) return false;
    const auto next = std::lower_bound(moves_.begin(), moves_.end(), copy.value());
    return next == moves_.end() || *next >= rows_end(trace_, copy);
  }

  void add(Cause& cause, Finding finding) {
    if (cause.seen.empty()) return;
    Nanos at_most_ns = cause.seen.total_ns();
    add_to(at_most_ns, cause.device_ns);
    add_simulated(data_, report_, std::move(finding), cause.seen, at_most_ns, cause.changes);
  }

  void say_pattern(Cause& cause, Pattern pattern, std::string title, std::string detail) {
    add(cause, {.id = std::string(id(pattern)),
                .title = std::move(title),
                .detail = std::move(detail),
                .advice = std::string(advice(pattern)),
                .command = "sonde table TRACE --sort-by count"});
  }

  void say() {
    say_pattern(
        elements_, Pattern::ForLoopIndexing, "A loop processes a tensor element by element",
        format_text(
            "A loop called the same small operators ({}) for one element after another: {}. If a "
            "round needs the result of the one before, it has to stay one.",
            names_of_loop_, elements_.seen.lengths()));
    say_pattern(updates_, Pattern::OptimizerSingleTensor,
                "The optimiser updates one parameter at a time",
                format_text("The same few operators ran for each of many parameters: {}.",
                            updates_.seen.lengths()));
    say_pattern(
        zeros_, Pattern::GradientNotSetToNone, "Gradients are filled with zeros",
        format_text("Tensors were set to zero one after another: {}.", zeros_.seen.lengths()));
    say_pattern(biases_, Pattern::Conv2dBiasBatchNorm,
                "Convolutions add a bias just before a batch norm",
                format_text("Adding it was a call of its own: {}.", biases_.seen.lengths()));
    add(copies_,
        {.id = "extra_copies",
         .title = "Tensors are copied, although type and device stay the same",
         .detail =
             format_text("Copies that change neither type nor device (clone, contiguous, to): {}.",
                         copies_.seen.lengths()),
         .advice = "Where nothing changes the original, use it and not a clone of it; avoid "
                   "copy=True. contiguous() and reshape() copy to change the layout: create the "
                   "tensor in the layout that is needed later.",
         .command = "sonde table TRACE --sort-by self_cpu_time_total"});
  }

  const ReportData& data_;
  Report& report_;
  const Trace& trace_;
  const Launches& launches_;
  std::vector<Role> roles_;           // by name
  std::vector<std::uint32_t> moves_;  // rows of spans, sorted
  Cause elements_, zeros_, updates_, biases_, copies_;
  Nanos longest_loop_ns_ = -1;
  std::string names_of_loop_;  // of the longest
};

}  // namespace

void find_in_operators(const ReportData& data, Report& report) {
  OperatorFindings(data, report).run();
}

}  // namespace sonde::detail
