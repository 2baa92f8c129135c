// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Findings that need only operators and no Python calls. They have the same causes as PyTorch's
// patterns, in programs of any language. If both find the same cause, report() keeps the larger
// bound.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyse/report/findings.h"
#include "analyse/report/op_runs.h"
#include "analyse/sum.h"
#include "analyse/time/launches.h"
#include "base/format.h"
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
  };
  const auto found = roles.find(name);
  return found == roles.end() ? Role::Other : found->second;
}

// The time of one cause so far.
struct Cause {
  Nanos saving_ns = 0;
  std::uint64_t count = 0;
  WorstSpans spans;

  void add(Nanos time_ns, std::uint64_t more, SpanId span) {
    add_to(saving_ns, time_ns);
    count += more;
    spans.add(time_ns, span);
  }
};

class OperatorFindings {
 public:
  explicit OperatorFindings(Report& report) : report_(report), trace_(report.trace) {
    find_moves();
    roles_.reserve(trace_.strings().size());
    for (std::size_t i = 0; i < trace_.strings().size(); ++i)
      roles_.push_back(role_of(trace_.strings()[StringId(i)]));
  }

  void run() {
    visit_siblings(trace_, [this](std::span<const SpanId> siblings) {
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

  // One call instead of all of them could save all but one.
  void look_at(const OpRun& run) {
    Cause* const cause = cause_of(run.ops.first(run.period));
    if (cause == nullptr) return;
    Nanos time_ns = 0;
    for (const SpanId op : run.ops) add_to(time_ns, trace_.spans().duration_ns[op]);
    const auto once_ns = time_ns / static_cast<Nanos>(run.repeats());
    cause->add(cause == &zeros_ ? time_ns : time_ns - once_ns, run.repeats(), run.ops.front());
  }

  Cause* cause_of(std::span<const SpanId> ops) {
    const auto any = [&](Role wanted) {
      return std::any_of(ops.begin(), ops.end(), [&](SpanId op) { return role(op) == wanted; });
    };
    const auto all = [&](Role a, Role b) {
      return std::all_of(ops.begin(), ops.end(),
                         [&](SpanId op) { return role(op) == a || role(op) == b; });
    };
    if (any(Role::Element)) return &elements_;
    if (any(Role::Zero) && all(Role::Zero, Role::Detach)) return &zeros_;
    const bool updates = any(Role::Update) || (ops.size() > 1 && all(Role::InPlace, Role::Detach));
    return updates ? &updates_ : nullptr;
  }

  // Adding a bias reads and writes what the batch norm also reads and writes at least once, so it
  // takes no longer than the norm. Counting batches may come in between.
  void look_for_biases(std::span<const SpanId> siblings) {
    SpanId convolution;
    for (const SpanId op : siblings) {
      if (role(op) == Role::InPlace) continue;
      if (role(op) == Role::BatchNorm && convolution.valid() && has_bias(convolution))
        biases_.add(trace_.spans().duration_ns[op], 1, convolution);
      convolution = role(op) == Role::Convolution ? op : SpanId();
    }
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
    if (role(op) != Role::Copy) return;
    const SpanId parent = trace_.spans().parent[op];
    if (!parent.valid()) return;
    const bool is_extra =
        role(parent) == Role::CopyMaker || (role(parent) == Role::To && changes_nothing(op));
    if (is_extra) copies_.add(trace_.spans().duration_ns[op], 1, op);
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
    if (!is_worth_saying(report_, cause.saving_ns)) return;
    finding.saving_ns = cause.saving_ns;
    finding.count = cause.count;
    finding.spans = cause.spans.take();
    report_.findings.push_back(std::move(finding));
  }

  void say_pattern(Cause& cause, Pattern pattern, std::string title, std::string detail) {
    add(cause, {.id = std::string(id(pattern)),
                .title = std::move(title),
                .detail = std::move(detail),
                .advice = std::string(advice(pattern)),
                .command = "sonde table TRACE --sort-by count"});
  }

  void say() {
    say_pattern(elements_, Pattern::ForLoopIndexing, "A loop processes a tensor element by element",
                format_text("The same few operators ran on one element after another: {}.",
                            times_text(elements_.count)));
    say_pattern(updates_, Pattern::OptimizerSingleTensor,
                "The optimiser updates one parameter at a time",
                format_text("The same few operators ran for each of many parameters: {}.",
                            times_text(updates_.count)));
    say_pattern(
        zeros_, Pattern::GradientNotSetToNone, "Gradients are filled with zeros",
        format_text("Tensors set to zero one after another: {}.", count_text(zeros_.count)));
    say_pattern(biases_, Pattern::Conv2dBiasBatchNorm,
                "Convolutions add a bias just before a batch norm",
                format_text("Seen {}.", times_text(biases_.count)));
    add(copies_,
        {.id = "extra_copies",
         .title = "Tensors are copied without being changed",
         .detail = format_text(
             "Copies that change neither type nor device (clone, contiguous, to): {}, {} in total.",
             times_text(copies_.count), duration_text(copies_.saving_ns)),
         .advice = "Use the original tensor where nothing changes it. Create it in the layout that "
                   "is needed later. Avoid copy=True.",
         .command = "sonde table TRACE --sort-by self_cpu_time_total"});
  }

  Report& report_;
  const Trace& trace_;
  std::vector<Role> roles_;           // by name
  std::vector<std::uint32_t> moves_;  // rows of spans, sorted
  Cause elements_, zeros_, updates_, biases_, copies_;
};

// Whether recording more would help. Patterns need operators, and one of them needs a device.
bool could_be_looked_for(const Report& report, Pattern pattern) {
  if (report.host.operators.empty()) return false;
  return pattern != Pattern::Fp32MatMul || !report.devices.empty();
}

}  // namespace

void find_in_operators(const ReportData& /*data*/, Report& report) {
  OperatorFindings(report).run();
}

void find_patterns(const ReportData& /*data*/, Report& report) {
  std::map<std::string, std::string> missing;  // by reason
  for (const PatternMatches& found : match_patterns(report.trace)) {
    const std::string name(torch_name(found.pattern));
    if (!found.missing.empty() && could_be_looked_for(report, found.pattern)) {
      std::string& names = missing[found.missing];
      names += (names.empty() ? "" : ", ") + name;
    }
    if (found.spans.empty() || !is_worth_saying(report, found.saving_ns)) continue;
    const std::string place = source_location(report.trace, found.spans.front());
    WorstSpans spans;
    for (const SpanId span : found.spans) spans.add(report.trace.spans().duration_ns[span], span);
    report.findings.push_back(
        {.id = std::string(id(found.pattern)),
         .title = name,
         .detail = format_text("PyTorch's pattern was found {}{}.", times_text(found.spans.size()),
                               place.empty() ? "" : ", first at " + place),
         .advice = std::string(advice(found.pattern)),
         .command = "sonde table TRACE --sort-by count",
         .saving_ns = found.saving_ns,
         .count = found.spans.size(),
         .spans = spans.take()});
  }
  for (const auto& [reason, names] : missing)
    report.missing.push_back(format_text("{}: {}", names, reason));
}

}  // namespace sonde::detail
