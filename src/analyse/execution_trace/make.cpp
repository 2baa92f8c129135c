// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Makes an execution trace from a trace.

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>

#include "analyse/execution_trace/node_inputs.h"
#include "base/format.h"
#include "sonde/analyse/execution_trace.h"
#include "trace/execution_trace_text.h"

namespace sonde {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

bool becomes_a_node(const Trace& trace, SpanId span) {
  const TrackId track = trace.spans().track[span];
  if (!track.valid() || trace.tracks().kind[track] != TrackKind::Thread) return false;
  return is_execution_trace_node(trace.spans().kind[span]);
}

class Maker {
 public:
  explicit Maker(const Trace& trace)
      : trace_(trace), inputs_(trace, out_), node_of_(trace.spans().size(), 0) {}

  Result<ExecutionTrace> make() {
    SONDE_TRY_VOID(choose());
    out_.schema = kExecutionTraceSchema;
    out_.start_ms = trace_.first_ns() / kNsPerMs;
    out_.finish_ms = trace_.last_ns() / kNsPerMs;
    number_threads();
    for (const SpanId span : spans_) add(span);
    order_by_end();
    out_.nodes.push_back(execution_trace_root());
    return std::move(out_);
  }

 private:
  struct Thread {
    std::uint64_t number = 0;
    std::uint64_t node = 0;
    std::vector<SpanId> open;
  };

  // In the order in which they began, which is the order of ids.
  Result<void> choose() {
    ProcessId process;
    bool has_operators = false;
    for (const SpanId span : trace_.all_spans()) {
      if (!becomes_a_node(trace_, span)) continue;
      const ProcessId here = trace_.tracks().process[trace_.spans().track[span]];
      if (!spans_.empty() && here != process) {
        return Failure(
            ErrorCode::Unsupported,
            "an execution trace covers one process; this trace has operators of several");
      }
      process = here;
      has_operators |= trace_.spans().kind[span] == SpanKind::CpuOp;
      spans_.push_back(span);
    }
    if (!has_operators) return Failure(ErrorCode::Invalid, "there are no operators in the trace");
    if (process.valid()) out_.pid = trace_.processes().pid[process];
    std::stable_sort(spans_.begin(), spans_.end(), [this](SpanId a, SpanId b) {
      return trace_.spans().start_ns[a] < trace_.spans().start_ns[b];
    });
    return {};
  }

  // Uses the tensor library's numbers; threads without one come after those.
  void number_threads() {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < trace_.tracks().size(); ++i)
      last = std::max(last, trace_.tracks().logical_id[i]);
    for (const SpanId span : spans_) {
      const TrackId track = trace_.spans().track[span];
      Thread& thread = threads_[track];
      if (thread.number != 0) continue;
      const std::int64_t known = trace_.tracks().logical_id[track];
      thread.number = static_cast<std::uint64_t>(known > 0 ? known : ++last);
      thread_of_number_[thread.number] = &thread;
    }
  }

  void add(SpanId span) {
    const SpanTable& spans = trace_.spans();
    Thread& thread = threads_[spans.track[span]];
    if (thread.node == 0) add_thread(thread);
    close_until(thread, spans.start_ns[span]);
    ExecutionTraceNode node;
    node.id = node_of_[span.value()] = numbers_.next();
    node.parent = parent_of(span, thread);
    node.name = trace_.name(span);
    node.record_function_id =
        static_cast<std::uint64_t>(std::max<std::int64_t>(spans.record_function_id[span], 0));
    node.sequence_number = spans.sequence_number[span];
    node.scope = scope_of(span);
    node.thread = thread.number;
    node.forward_thread = static_cast<std::uint64_t>(spans.forward_thread[span]);
    if (spans.scope[span] == RecordScope::BackwardFunction)
      node.forward_parent = innermost(node.forward_thread, spans.start_ns[span]);
    node.inputs = inputs_.of(span, numbers_);
    out_.nodes.push_back(node);
    ends_.push_back(trace_.end_ns(span));
    thread.open.push_back(span);
  }

  void add_thread(Thread& thread) {
    ExecutionTraceNode node;
    node.id = thread.node = numbers_.next();
    node.parent = kRootNodeId;
    node.name = kThreadNodeName;
    node.scope = kUserScope;
    node.thread = thread.number;
    out_.nodes.push_back(node);
    ends_.push_back(trace_.first_ns());
  }

  std::uint64_t scope_of(SpanId span) const {
    if (trace_.spans().scope[span] != RecordScope::None)
      return static_cast<std::uint64_t>(trace_.spans().scope[span]);
    return trace_.spans().kind[span] == SpanKind::CpuOp ? 0 : kUserScope;
  }

  std::uint64_t parent_of(SpanId span, const Thread& thread) const {
    for (SpanId at = trace_.spans().parent[span]; at.valid(); at = trace_.spans().parent[at]) {
      if (node_of_[at.value()] != 0) return node_of_[at.value()];
    }
    return thread.node;
  }

  void close_until(Thread& thread, Nanos time_ns) const {
    while (!thread.open.empty() && trace_.end_ns(thread.open.back()) <= time_ns)
      thread.open.pop_back();
  }

  std::uint64_t innermost(std::uint64_t thread_number, Nanos time_ns) {
    const auto found = thread_of_number_.find(thread_number);
    if (found == thread_of_number_.end()) return 0;
    Thread& thread = *found->second;
    close_until(thread, time_ns);
    return thread.open.empty() ? thread.node : node_of_[thread.open.back().value()];
  }

  // Children have larger ids than their parent, and come before it.
  void order_by_end() {
    std::vector<std::size_t> order(out_.nodes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      if (ends_[a] != ends_[b]) return ends_[a] < ends_[b];
      return out_.nodes[a].id > out_.nodes[b].id;
    });
    std::vector<ExecutionTraceNode> sorted;
    sorted.reserve(order.size() + 1);
    for (const std::size_t i : order) sorted.push_back(out_.nodes[i]);
    out_.nodes = std::move(sorted);
  }

  const Trace& trace_;
  ExecutionTrace out_;
  detail::NodeInputs inputs_;
  detail::NodeIds numbers_;
  std::vector<SpanId> spans_;
  std::vector<std::uint64_t> node_of_;  // by span; 0: none
  std::vector<Nanos> ends_;             // of the nodes
  std::map<TrackId, Thread> threads_;
  std::unordered_map<std::uint64_t, Thread*> thread_of_number_;
};

}  // namespace

// Names refer to the trace's own strings.
Result<ExecutionTrace> execution_trace_of(const Trace& trace) {
  SONDE_TRY(ExecutionTrace et, Maker(trace).make());
  et.file_text = std::make_shared<const Trace>(trace);
  return et;
}

}  // namespace sonde
