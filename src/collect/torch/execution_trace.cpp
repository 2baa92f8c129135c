// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/execution_trace.h"

#include <ATen/record_function.h>
#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/torch/integral_tensors.h"
#include "collect/torch/node_attributes.h"
#include "collect/torch/node_values.h"
#include "collect/torch/schema_text.h"
#include "sonde/source/execution_trace_source.h"

namespace sonde::torch {
namespace {

constexpr std::uint64_t kRoot = 1;
constexpr const char* kThreadName = "[pytorch|profiler|execution_trace|thread]";
constexpr const char* kProcessGroups = "## process_group:init ##";
constexpr auto kUserScopeOfTorch = static_cast<std::uint64_t>(at::RecordScope::USER_SCOPE);

// An operator from its beginning until it is written.
struct Node : at::ObserverContext {
  std::uint64_t id = 0;
  std::uint64_t parent = kRoot;
  std::uint64_t forward_parent = 0;
  std::uint64_t thread = 0;
  std::string name;
  std::string schema;
  std::string more_attributes;
  std::string tensor_range;
  TritonKernel kernel;
  NodeValues inputs;
  NodeValues outputs;
  std::int64_t sequence_number = -1;
  std::uint64_t record_function_id = 0;
  std::uint64_t scope = kUserScopeOfTorch;
  std::uint64_t forward_thread = 0;
  bool is_written = false;

  void write() {
    is_written = true;
    sonde_et_node node = {};
    node.size = sizeof(node);
    node.id = id;
    node.parent = parent;
    node.name = et_text(name);
    node.inputs = inputs.lists();
    node.outputs = outputs.lists();
    node.record_function_id = record_function_id;
    node.forward_parent = forward_parent;
    node.sequence_number = sequence_number;
    node.scope = scope;
    node.thread = thread;
    node.forward_thread = forward_thread;
    node.schema = et_text(schema);
    node.kernel_backend = et_text(kernel.backend);
    node.kernel_file = et_text(kernel.file);
    node.more_attributes = et_text(more_attributes);
    node.tensor_range = et_text(tensor_range);
    sonde_et_write(&node);
  }
};

struct Thread {
  std::uint64_t node = 0;
  std::vector<Node*> open;  // the innermost last

  std::uint64_t innermost() const { return open.empty() ? node : open.back()->id; }
};

// The text of a schema, such as "aten::t(Tensor(a) self) -> Tensor(a)", made once per operator.
class Schemas {
 public:
  const std::string& of(const at::RecordFunction& fn) {
    static const std::string none;
    const auto op = fn.operator_name();
    if (!op) return none;
    const auto [found, is_new] = known_.try_emplace(op->name + "." + op->overload_name);
    if (is_new) found->second = schema_text(*op);
    return found->second;
  }

 private:
  std::unordered_map<std::string, std::string> known_;
};

// All callbacks take its lock.
class Observer {
 public:
  // Numbers start again.
  void begin() {
    const std::lock_guard lock(mutex_);
    numbers_.forget();
    threads_.clear();
    integral_.begin(sonde_et_path());
  }

  void start(const char* process_groups);
  void stop() {
    if (is_on_) at::removeCallback(callback_);
    is_on_ = false;
    write_open();
  }
  void end() {
    stop();
    is_over_ = true;
  }

  std::unique_ptr<Node> begin_node(const at::RecordFunction& fn);
  void end_node(const at::RecordFunction& fn, Node& node);

  // For a child of fork(): replaces the parent's. torch has our callback there too.
  Observer* in_child() const {
    auto* const fresh = new Observer;
    fresh->is_on_ = is_on_;
    fresh->callback_ = callback_;
    return fresh;
  }

 private:
  void write_open();
  Thread& thread(std::uint64_t number);
  void add_inputs(const at::RecordFunction& fn, Node& node);

  std::mutex mutex_;
  NodeNumbers numbers_;
  Schemas schemas_;
  IntegralTensors integral_;
  std::unordered_map<std::uint64_t, Thread> threads_;
  bool is_running_ = false;
  // Used by start() and stop(), which are called one at a time.
  bool is_on_ = false;
  bool is_over_ = false;
  at::CallbackHandle callback_ = 0;
};

// Leaked: callbacks may run while the program's statics are destroyed, and after fork() the lock
// may be held by a thread that does not exist in the child.
Observer*& place() {
  static auto* only = new Observer;
  return only;
}
Observer& observer() {
  return *place();
}

std::unique_ptr<at::ObserverContext> on_node_begin(const at::RecordFunction& fn) {
  return observer().begin_node(fn);
}

void on_node_end(const at::RecordFunction& fn, at::ObserverContext* context) {
  if (context != nullptr) observer().end_node(fn, *static_cast<Node*>(context));
}

// As in torch.profiler: an annotation whose only input is the text.
void tell_process_groups(const char* groups) {
  const std::vector<c10::IValue> inputs = {c10::IValue(std::string(groups))};
  at::RecordFunction guard(at::RecordScope::USER_SCOPE);
  if (!guard.isActive()) return;
  guard.before(kProcessGroups, c10::ArrayRef<const c10::IValue>(inputs.data(), inputs.size()));
}

void Observer::start(const char* process_groups) {
  if (is_over_) return;
  {
    const std::lock_guard lock(mutex_);
    is_running_ = true;
  }
  if (!is_on_) {
    callback_ = at::addGlobalCallback(at::RecordFunctionCallback(&on_node_begin, &on_node_end)
                                          .needsInputs(true)
                                          .needsOutputs(true)
                                          .needsIds(true));
  }
  is_on_ = true;
  if (*process_groups != '\0') tell_process_groups(process_groups);
}

// Writes the nodes that are still open, innermost first, so that every node has its parent.
void Observer::write_open() {
  const std::lock_guard lock(mutex_);
  is_running_ = false;
  for (auto& [number, thread] : threads_) {
    for (auto node = thread.open.rbegin(); node != thread.open.rend(); ++node) (*node)->write();
    thread.open.clear();
  }
}

Thread& Observer::thread(std::uint64_t number) {
  Thread& thread = threads_[number];
  if (thread.node != 0) return thread;
  Node node;
  node.id = thread.node = numbers_.next();
  node.name = kThreadName;
  node.thread = number;
  node.write();
  return thread;
}

void Observer::add_inputs(const at::RecordFunction& fn, Node& node) {
  for (const c10::IValue& value : fn.inputs()) node.inputs.add(value, numbers_);
  node.kernel = triton_kernel_of(fn);
  if (node.kernel.stream.isInt()) node.inputs.add(node.kernel.stream, numbers_);
}

std::unique_ptr<Node> Observer::begin_node(const at::RecordFunction& fn) {
  const std::lock_guard lock(mutex_);
  if (!is_running_) return nullptr;
  auto node = std::make_unique<Node>();
  node->thread = at::RecordFunction::currentThreadId();
  Thread& here = thread(node->thread);
  node->id = numbers_.next();
  node->parent = here.innermost();
  node->name = fn.name();
  node->sequence_number = fn.seqNr();
  node->record_function_id = fn.handle();
  node->scope = static_cast<std::uint64_t>(fn.scope());
  node->forward_thread = fn.forwardThreadId();
  if (fn.scope() == at::RecordScope::BACKWARD_FUNCTION && node->forward_thread != 0) {
    const auto forward = threads_.find(node->forward_thread);
    if (forward != threads_.end()) node->forward_parent = forward->second.innermost();
  }
  node->schema = schemas_.of(fn);
  node->more_attributes = collective_attributes(fn);
  node->tensor_range = integral_.record(fn, node->id);
  add_inputs(fn, *node);
  here.open.push_back(node.get());
  return node;
}

void Observer::end_node(const at::RecordFunction& fn, Node& node) {
  const std::lock_guard lock(mutex_);
  if (node.is_written) return;
  const auto found = threads_.find(node.thread);
  if (found == threads_.end()) return;
  std::vector<Node*>& open = found->second.open;
  const auto at = std::find(open.rbegin(), open.rend(), &node);
  if (at == open.rend()) return;
  open.erase(std::next(at).base());
  // A boxed kernel passes its whole stack. The results are at its end.
  const std::vector<c10::IValue>& outputs = fn.outputs();
  const std::size_t count = std::min(fn.num_outputs(), outputs.size());
  for (std::size_t i = outputs.size() - count; i < outputs.size(); ++i)
    node.outputs.add(outputs[i], numbers_);
  node.write();
}

const sonde_et_source kEtSource = {
    sizeof(kEtSource),
    [] { observer().begin(); },
    [](const char* process_groups) { observer().start(process_groups); },
    [] { observer().stop(); },
};

}  // namespace

void attach_execution_trace() {
  static const bool is_first = [] {
    static_cast<void>(place());
    ::pthread_atfork(nullptr, nullptr, [] { place() = place()->in_child(); });
    return true;
  }();
  static_cast<void>(is_first);
  sonde_add_et_source(&kEtSource);
}

void end_execution_trace() {
  observer().end();
}

}  // namespace sonde::torch
