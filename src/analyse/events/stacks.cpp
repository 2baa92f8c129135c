// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where an event was called from; stacks collapsed into lines.

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyse/events/event_data.h"
#include "analyse/events/stacks.h"
#include "analyse/flags.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

// Frames of PyTorch's internals. Both texts must occur in a frame.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kHiddenFrames = {{
    {"autograd/__init__", "_make_grads"},
    {"autograd/__init__", "backward"},
    {"torch/tensor", "backward"},
    {"_internal/common_utils", "prof_callable"},
    {"_internal/common_utils", "prof_func_call"},
    {"_internal/common_utils", "prof_meth_call"},
}};

// Prefixes of its functions' names.
constexpr std::array<std::string_view, 3> kTensorLibrary = {"at::", "c10::", "torch::"};

bool is_hidden(std::string_view frame) {
  return std::any_of(kHiddenFrames.begin(), kHiddenFrames.end(), [&](const auto& both) {
    return frame.find(both.first) != std::string_view::npos &&
           frame.find(both.second) != std::string_view::npos;
  });
}

void add_frame(std::vector<std::string>& stack, std::string frame) {
  if (!is_hidden(frame)) stack.push_back(std::move(frame));
}

// Whether it is a native frame of the tensor library, between an operator and its caller.
bool is_plumbing(const Trace& trace, FrameId frame) {
  if (!frame.valid() || trace.frames().kind[frame] != FrameKind::Native) return false;
  std::string_view binary = trace.string(trace.frames().binary[frame]);
  binary = binary.substr(binary.rfind('/') + 1);
  if (!binary.empty()) return binary.starts_with("libtorch") || binary.starts_with("libc10");
  // A snapshot of the allocator has only function names.
  std::string_view function = trace.string(trace.frames().function[frame]);
  function = function.substr(0, function.find_first_of("(<"));
  function = function.substr(function.rfind(' ') + 1);  // the type of the result comes first
  return std::any_of(kTensorLibrary.begin(), kTensorLibrary.end(),
                     [&](std::string_view begin) { return function.starts_with(begin); });
}

// Skips internal frames at the inner end, unless there are no others or they were asked for.
StackId first_worth_telling(const Trace& trace, StackId innermost) {
  StackId at = innermost;
  if (at.valid() && is_plumbing(trace, trace.stacks().frame[at]) &&
      has_flag(trace, kNativeStacksKey))
    return innermost;
  while (at.valid() && is_plumbing(trace, trace.stacks().frame[at])) at = trace.stacks().parent[at];
  return at.valid() ? at : innermost;
}

std::vector<std::string> python_callers(const Trace& trace, SpanId span, std::size_t most) {
  const SpanTable& spans = trace.spans();
  std::vector<std::string> stack;
  for (SpanId at = spans.parent[span]; at.valid() && stack.size() < most; at = spans.parent[at]) {
    if (spans.kind[at] == SpanKind::PythonFunction) add_frame(stack, std::string(trace.name(at)));
  }
  return stack;
}

// The gradient that an event belongs to: the event itself or one around it.
std::uint32_t gradient_around(const EventData& data, std::size_t event) {
  for (auto at = static_cast<std::uint32_t>(event); at != kNoEvent; at = data.parent[at]) {
    if (data.is_backward(at)) return at;
  }
  return kNoEvent;
}

bool comes_before(const ForwardOp& a, const ForwardOp& b) {
  return std::tie(a.sequence_number, a.thread, a.event) <
         std::tie(b.sequence_number, b.thread, b.event);
}

}  // namespace

std::vector<std::string> recorded_stack(const Trace& trace, StackId innermost, std::size_t most) {
  std::vector<std::string> stack;
  for (StackId at = first_worth_telling(trace, innermost); at.valid() && stack.size() < most;
       at = trace.stacks().parent[at]) {
    add_frame(stack, frame_text(trace, trace.stacks().frame[at]));
  }
  return stack;
}

std::vector<std::string> own_stack(const Trace& trace, SpanId span, std::size_t most) {
  const StackId recorded = trace.spans().stack[span];
  return recorded.valid() ? recorded_stack(trace, recorded, most)
                          : python_callers(trace, span, most);
}

// libfoo.so+0x1234: for a frame without a name.
std::string address_text(const Trace& trace, FrameId frame) {
  std::string_view binary = trace.string(trace.frames().binary[frame]);
  binary = binary.substr(binary.rfind('/') + 1);
  char digits[16];
  const auto end =
      std::to_chars(digits, digits + sizeof(digits), trace.frames().binary_offset[frame], 16).ptr;
  return std::string(binary) + "+0x" + std::string(digits, end);
}

std::string frame_text(const Trace& trace, FrameId frame) {
  if (!frame.valid()) return {};
  const FrameTable& frames = trace.frames();
  const std::string_view file = trace.string(frames.file[frame]);
  const std::string_view function = trace.string(frames.function[frame]);
  if (function.empty()) return address_text(trace, frame);
  if (file.empty()) return std::string(function);
  std::string text(file);
  text += '(';
  text += std::to_string(frames.line[frame]);
  text += "): ";
  text += function;
  return text;
}

bool EventData::is_backward(std::size_t event) const noexcept {
  if (!is_span(event)) return false;
  const RecordScope scope = trace.spans().scope[SpanId(row[event])];
  if (scope == RecordScope::BackwardFunction) return true;
  if (kind(event) != SpanKind::CpuOp || parent[event] == kNoEvent) return false;
  // A gradient without a sequence number is recognised by the call around it.
  const std::string_view around = name_text(name[parent[event]]);
  return around.starts_with(kEvaluateFunction) &&
         around.substr(kEvaluateFunction.size()) == name_text(name[event]);
}

const std::vector<ForwardOp>& EventData::forward_ops() const {
  std::call_once(forward_ops_once_, [this] {
    for (std::uint32_t event = 0; event < size(); ++event) {
      if (!nests(event) || !is_span(event)) continue;
      const std::int64_t number = spans->sequence_number[row[event]];
      if (number < 0 || thread[event] >= logical_thread.size() || is_backward(event)) continue;
      forward_ops_.push_back({number, logical_thread[thread[event]], event});
    }
    std::sort(forward_ops_.begin(), forward_ops_.end(), comes_before);
  });
  return forward_ops_;
}

const EventData::Callers& EventData::callers() const {
  std::call_once(callers_once_, [this] {
    const auto& kinds = trace.spans().kind;
    for (std::size_t i = 0; i < kinds.size() && !callers_.python; ++i)
      callers_.python = kinds[i] == SpanKind::PythonFunction;
    for (std::size_t event = 0; event < size() && !callers_.gradients; ++event)
      callers_.gradients = is_backward(event);
  });
  return callers_;
}

std::vector<std::string> EventData::stack(std::size_t event, std::size_t most) const {
  if (!is_span(event)) return {};
  const auto own = [this, most](std::size_t of) -> std::vector<std::string> {
    const SpanId span(row[of]);
    if (!trace.spans().stack[span].valid() && !callers().python) return {};
    return own_stack(trace, span, most);
  };
  const std::uint32_t gradient = callers().gradients ? gradient_around(*this, event) : kNoEvent;
  if (gradient == kNoEvent) return own(event);
  const SpanId span(row[gradient]);
  const ForwardOp wanted = {trace.spans().sequence_number[span], trace.spans().forward_thread[span],
                            0};
  const std::vector<ForwardOp>& candidates = forward_ops();
  const auto found = std::lower_bound(candidates.begin(), candidates.end(), wanted, comes_before);
  if (found == candidates.end() || found->sequence_number != wanted.sequence_number ||
      found->thread != wanted.thread) {
    return {};
  }
  return own(found->event);
}

namespace {

// Frames from the outermost, separated by `;`, without what separates them and the number.
std::string collapsed(const std::vector<std::string>& stack) {
  std::string text;
  for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
    if (frame != stack.rbegin()) text += ';';
    for (const char c : *frame) text += c == ' ' || c == ';' || c == '\t' || c == '\n' ? '_' : c;
  }
  return text;
}

void append_stack_line(std::string& text, std::string_view stack, double time_us) {
  const auto microseconds = static_cast<std::int64_t>(time_us);
  if (microseconds <= 0) return;
  text += stack;
  text += ' ';
  text += std::to_string(microseconds);
  text += '\n';
}

}  // namespace

std::string collapsed_stacks(const EventData& data, bool device_time, bool each_event) {
  std::string text;
  std::unordered_map<std::string, std::size_t> places;
  std::vector<std::pair<const std::string*, double>> sums;  // in the order of their first events
  for (std::size_t event = 0; event < data.size(); ++event) {
    const double time_us = device_time ? data.self_device_us(event) : data.self_cpu_us(event);
    if (time_us <= 0 || (each_event && time_us < 1)) continue;
    const std::vector<std::string> stack = data.stack(event);
    if (stack.empty()) continue;
    if (each_event) {
      append_stack_line(text, collapsed(stack), time_us);
      continue;
    }
    const auto [found, is_new] = places.try_emplace(collapsed(stack), sums.size());
    if (is_new) sums.emplace_back(&found->first, 0);
    sums[found->second].second += time_us;
  }
  for (const auto& [stack, time_us] : sums) append_stack_line(text, *stack, time_us + 1e-6);
  return text;
}

}  // namespace sonde::detail
