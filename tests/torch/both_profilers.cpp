// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "both_profilers.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <set>

#include "sonde/profiler.h"
#include "sonde/torch.h"

namespace sonde::testing {
namespace {

namespace theirs = ::torch::autograd::profiler;
namespace impl = ::torch::profiler::impl;

// What both sides know about an operator. The forward thread has a meaning only with a sequence
// number.
std::string line(const std::string& name, std::int64_t sequence, std::uint64_t forward_thread,
                 int scope, const std::string& shapes, std::uint64_t flops) {
  return name + " seq " + std::to_string(sequence) + " fwd " +
         std::to_string(sequence >= 0 ? forward_thread : 0) + " scope " + std::to_string(scope) +
         " " + shapes + " flops " + std::to_string(flops);
}

template <typename List, typename Text>
std::string joined(const List& items, const Text& text) {
  std::string all;
  for (const auto& item : items) all += (all.empty() ? "" : ", ") + text(item);
  return "[" + all + "]";
}

std::string shapes_text(c10::ArrayRef<std::vector<std::int64_t>> shapes) {
  return joined(shapes, [](const std::vector<std::int64_t>& shape) {
    return joined(shape, [](std::int64_t size) { return std::to_string(size); });
  });
}

struct Node {
  int depth;
  std::string name;
};
std::vector<Node> nesting;
int open_ops = 0;

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& fn) {
  nesting.push_back({open_ops++, fn.name()});
  return nullptr;
}
void leave(const at::RecordFunction& /*fn*/, at::ObserverContext* /*context*/) {
  --open_ops;
}

// PyTorch's event list leaves out an operator that is the only one inside another of its name.
bool repeats_its_parent(std::size_t index) {
  if (index == 0 || index >= nesting.size()) return false;
  const Node& node = nesting[index];
  const Node& before = nesting[index - 1];
  if (before.depth != node.depth - 1 || before.name != node.name) return false;
  const auto next =
      std::find_if(nesting.begin() + static_cast<std::ptrdiff_t>(index) + 1, nesting.end(),
                   [&](const Node& n) { return n.depth <= node.depth; });
  return next == nesting.end() || next->depth < node.depth;
}

Seen what_torch_saw(const theirs::ProfilerResult& result) {
  Seen seen;
  for (const Node& node : nesting)
    seen.tree.push_back(std::to_string(node.depth) + " " + node.name);
  std::size_t index = 0;
  for (const theirs::KinetoEvent& event : result.events()) {
    if (event.name() == "[memory]") {
      seen.bytes.push_back(event.nBytes());
    } else if (!repeats_its_parent(index++)) {
      ++seen.counts[event.name()];
      seen.ops.push_back(line(event.name(), event.sequenceNr(), event.fwdThreadId(), event.scope(),
                              shapes_text(event.shapes()), event.flops()));
    }
  }
  return seen;
}

std::string depth_and_name(const Trace& trace, SpanId span) {
  int depth = 0;
  for (SpanId at = trace.spans().parent[span]; at.valid(); at = trace.spans().parent[at]) ++depth;
  return std::to_string(depth) + " " + std::string(trace.name(span));
}

std::string our_line(const FunctionEvent& event, const Trace& trace) {
  const SpanTable& spans = trace.spans();
  return line(std::string(event.name()), spans.sequence_number[event.span()],
              static_cast<std::uint64_t>(spans.forward_thread[event.span()]),
              static_cast<int>(spans.scope[event.span()]), event.input_shapes(), event.flops());
}

Seen what_we_saw(const EventList& events) {
  const Trace& trace = events.trace();
  Seen seen;
  std::map<SpanId, std::string> lines;
  for (const FunctionEvent event : events) {
    if (event.span().valid()) lines[event.span()] = our_line(event, trace);
  }
  for (const SpanId span : trace.all_spans()) {
    if (trace.spans().scope[span] == RecordScope::None) continue;
    if (lines.count(span) > 0) seen.ops.push_back(lines[span]);
    seen.tree.push_back(depth_and_name(trace, span));
  }
  for (std::size_t i = 0; i < trace.allocations().size(); ++i) {
    seen.bytes.push_back(trace.allocations().bytes[i]);
  }
  for (const EventAverage& row : events.key_averages()) {
    if (row.key != "[memory]") seen.counts[row.key] = row.count;
  }
  return seen;
}

std::vector<std::string> texts(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> all;
  for (const std::int64_t number : numbers) all.push_back(std::to_string(number));
  return all;
}

std::vector<std::string> texts(const std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::string> all;
  for (const auto& [key, count] : counts) all.push_back(key + " " + std::to_string(count));
  return all;
}

}  // namespace

Both profile(const std::function<void()>& program) {
  sonde::torch::attach();
  const impl::ProfilerConfig config(impl::ProfilerState::KINETO, true, true, false, true, false);
  const std::set<impl::ActivityType> activities{impl::ActivityType::CPU};
  Profiler prof({.record = {.record_shapes = true, .profile_memory = true, .with_flops = true}});
  theirs::prepareProfiler(config, activities);
  prof.start();
  theirs::enableProfiler(config, activities);
  nesting.clear();
  at::addThreadLocalCallback(at::RecordFunctionCallback(&enter, &leave));
  program();
  const auto result = theirs::disableProfiler();
  at::clearThreadLocalCallbacks();
  prof.stop();
  const EventList events = prof.events();
  return {what_torch_saw(*result), what_we_saw(events), events.trace()};
}

std::string difference(const std::vector<std::string>& ours,
                       const std::vector<std::string>& torchs) {
  const auto [a, b] = std::mismatch(ours.begin(), ours.end(), torchs.begin(), torchs.end());
  if (a == ours.end() && b == torchs.end()) return "";
  return "at " + std::to_string(a - ours.begin()) + " of " + std::to_string(ours.size()) + " and " +
         std::to_string(torchs.size()) + ": ours " + (a != ours.end() ? *a : "none") +
         ", torch's " + (b != torchs.end() ? *b : "none") + "\n";
}

std::string differences(const Both& both) {
  return difference(both.ours.ops, both.torchs.ops) + difference(both.ours.tree, both.torchs.tree) +
         difference(texts(both.ours.bytes), texts(both.torchs.bytes)) +
         difference(texts(both.ours.counts), texts(both.torchs.counts));
}

}  // namespace sonde::testing
