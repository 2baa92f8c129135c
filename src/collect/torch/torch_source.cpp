// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// LibTorch's operators as a Source: global callbacks of RecordFunction.

#include <ATen/record_function.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "collect/torch/call_stack.h"
#include "collect/torch/collective_facts.h"
#include "collect/torch/execution_trace.h"
#include "collect/torch/inputs.h"
#include "collect/torch/keywords.h"
#include "collect/torch/memory.h"
#include "collect/torch/op_names.h"
#include "collect/torch/recording_cost.h"
#include "collect/torch/script_modules.h"
#include "collect/torch/step_finder.h"
#include "collect/torch/tool_ranges.h"
#include "sonde/detail/put_record.h"
#include "sonde/source/op.h"
#include "sonde/source/plugin.h"
#include "sonde/source/process_groups.h"
#include "sonde/torch.h"

namespace sonde::torch {
namespace {

// What the open windows ask for besides the operators themselves; read by callbacks.
constexpr unsigned kShapes = 1;
constexpr unsigned kTensors = 2;
constexpr unsigned kStacks = 4;
constexpr unsigned kModules = 8;
constexpr unsigned kNativeStacks = 16;
std::atomic<unsigned> wishes{0};
// Whether an operator of torch.distributed was seen.
std::atomic<bool> communicates{false};
// Counts windows, so that every thread records its number in each.
std::atomic<std::uint32_t> window{0};

// Which of this thread's open operators were recorded. An operator that began outside a window has
// no end to write. Deep enough for everything but endless recursion.
class OpenOps {
 public:
  void push(bool recorded) {
    if (depth_ < kDeepest) {
      std::uint64_t& word = recorded_[depth_ / 64];
      const std::uint64_t bit = std::uint64_t{1} << (depth_ % 64);
      word = recorded ? word | bit : word & ~bit;
    }
    ++depth_;
  }
  bool pop() {
    if (depth_ == 0) return false;
    --depth_;
    return depth_ < kDeepest && ((recorded_[depth_ / 64] >> (depth_ % 64)) & 1) != 0;
  }
  bool is_full() const { return depth_ >= kDeepest; }
  std::uint32_t depth() const { return depth_; }

 private:
  static constexpr std::uint32_t kDeepest = 8192;
  std::uint32_t depth_ = 0;
  std::uint64_t recorded_[kDeepest / 64] = {};
};

// What every operator needs comes first, in one cache line: between two operators the program
// evicts most of our data from the cache.
struct alignas(64) ThreadState {
  detail::ThreadCursor* cursor = &detail::sonde_detail_cursor;
  std::uint32_t window = 0;
  std::uint32_t begins_until_timed = kTimedEvery;
  std::uint32_t ends_until_timed = kTimedEvery;
  OpenOps open;
  OpNames names;
  OpInputs inputs;
  CallStacks stacks;
  ScriptModules modules;
  CostWatch watch;        // on while an operator is timed
  bool is_quiet = false;  // nothing of this thread is recorded
};

// Leaked on purpose when the thread ends: operators run in destructors of other thread-local
// objects. It is at a fixed offset from the thread's block. The loader keeps a little room there
// for libraries that are loaded late; this takes 8 bytes of it.
__thread ThreadState* this_state __attribute__((tls_model("initial-exec"))) = nullptr;

__attribute__((noinline)) ThreadState& make_thread_state() {
  this_state = new ThreadState;
  return *this_state;
}

inline ThreadState& thread_state() {
  return __builtin_expect(this_state != nullptr, 1) ? *this_state : make_thread_state();
}

// For operators that may end on another thread: user scopes and those marked asynchronous.
struct RangeContext : at::ObserverContext {
  explicit RangeContext(sonde_range begun) : range(begun) {}
  sonde_range range;
};

bool may_end_elsewhere(const at::RecordFunction& fn, OpNames::Found name) {
  return !name.is_of_schema && (fn.scope() == at::RecordScope::USER_SCOPE || fn.isAsync());
}

sonde_op describe(const at::RecordFunction& fn, OpNames::Found name) {
  sonde_op op;
  op.size = sizeof(op);
  op.name = name.number;
  op.scope = static_cast<std::uint8_t>(fn.scope());
  op.sequence_number = fn.seqNr();
  op.forward_thread = fn.forwardThreadId();
  op.record_function_id = fn.handle();
  return op;
}

// Records what was requested about an operator or range that has begun within `depth` operators;
// `begin` is where that was written, if known.
__attribute__((noinline)) void record_more(const at::RecordFunction& fn, ThreadState& state,
                                           unsigned wished, std::uint32_t depth,
                                           detail::PutAt begin = {}) {
  state.watch.lap(CostPath::Begin);
  if ((wished & kShapes) != 0 && (!fn.inputs().empty() || !keyword_inputs(fn, 0).empty())) {
    record_inputs(fn, state.inputs, (wished & kTensors) != 0);
    state.watch.lap(CostPath::Inputs);
  }
  // The stack of a gradient is that of its forward operator. Readers find it by the sequence
  // number.
  if ((wished & (kStacks | kModules)) == 0 || fn.scope() == at::RecordScope::BACKWARD_FUNCTION)
    return state.stacks.forget(depth);
  const std::uint32_t stack =
      (wished & kStacks) != 0 ? state.stacks.here(depth, (wished & kNativeStacks) != 0) : 0;
  detail::write_op_place(*state.cursor, begin, stack,
                         (wished & kModules) != 0 ? state.modules.here() : 0);
  state.watch.lap(CostPath::Stack);
}

// Called at the first operator of a thread in a window.
__attribute__((noinline)) void begin_window(ThreadState& state, std::uint32_t number) {
  if (sonde_is_recording() == 0) return;
  state.window = number;
  state.stacks.forget_all();
  sonde_thread_is(at::RecordFunction::currentThreadId());
  if (communicates.load(std::memory_order_relaxed)) sonde_process_groups_used();
}

// For a child of fork(), which has our callback but no session yet.
__attribute__((noinline)) bool begin_late(const at::RecordFunction& fn, ThreadState& state) {
  if (state.open.is_full() || sonde_is_recording() != 0) return false;
  sonde_op_missed();
  if (sonde_is_recording() == 0) return false;
  begin_window(state, window.load(std::memory_order_relaxed));
  const sonde_op op = describe(fn, state.names.find(fn));
  return sonde_op_begin(&op) != 0;
}

__attribute__((noinline)) std::unique_ptr<at::ObserverContext> begin_range(
    const at::RecordFunction& fn, ThreadState& state, OpNames::Found name, unsigned wished) {
  const sonde_op op = describe(fn, name);
  auto context = std::make_unique<RangeContext>(sonde_op_range_begin(&op));
  if (context->range.position != 0 && wished != 0)
    record_more(fn, state, wished, state.open.depth());
  return context;
}

inline __attribute__((always_inline)) bool begin_op(const at::RecordFunction& fn,
                                                    ThreadState& state, std::uint32_t name,
                                                    detail::PutAt* written = nullptr) {
  return detail::write_op_begin(*state.cursor, name, static_cast<std::uint8_t>(fn.scope()),
                                fn.seqNr(), fn.forwardThreadId(), fn.handle(), written);
}

// Whether it is an operator of torch.distributed. Those that the dispatcher calls are rare cases
// only the first time that a thread calls them.
bool is_distributed(const at::RecordFunction& fn) {
  return std::strncmp(fn.name(), "c10d::", 6) == 0;
}
void tell_of_groups() {
  communicates.store(true, std::memory_order_relaxed);
  sonde_process_groups_used();
}

// For what measures the cost of callbacks.
void run_quietly(void (*body)()) {
  ThreadState& state = make_thread_state();
  state.is_quiet = true;
  state.begins_until_timed = state.ends_until_timed = ~std::uint32_t{0};
  set_memory_quiet(true);
  body();
  set_memory_quiet(false);
  delete std::exchange(this_state, nullptr);
}

// Handles the rare cases of on_begin.
__attribute__((noinline)) std::unique_ptr<at::ObserverContext> begin_rare(
    const at::RecordFunction& fn, ThreadState& state) {
  if (state.is_quiet) {
    state.open.push(false);
    return nullptr;
  }
  const std::uint32_t number = window.load(std::memory_order_relaxed);
  if (state.window != number) begin_window(state, number);
  const OpNames::Found name = state.names.find(fn);
  if (is_distributed(fn)) tell_of_groups();
  const unsigned wished = wishes.load(std::memory_order_relaxed);
  if (may_end_elsewhere(fn, name)) return begin_range(fn, state, name, wished);
  bool recorded = !state.open.is_full() && begin_op(fn, state, name.number);
  if (!recorded) recorded = begin_late(fn, state);
  const std::uint32_t depth = state.open.depth();
  state.open.push(recorded);
  if (!recorded) state.stacks.forget(depth);
  if (recorded && wished != 0) record_more(fn, state, wished, depth);
  if (recorded && is_collective(fn)) record_collective();
  return nullptr;
}

inline __attribute__((always_inline)) std::unique_ptr<at::ObserverContext> begin_any(
    const at::RecordFunction& fn, ThreadState& state) {
  const std::uint32_t name = state.names.find_of_schema(fn.name());
  detail::PutAt written;
  if (__builtin_expect(name == 0 || state.window != window.load(std::memory_order_relaxed) ||
                           state.open.is_full() || !begin_op(fn, state, name, &written),
                       0)) {
    return begin_rare(fn, state);
  }
  state.open.push(true);
  const unsigned wished = wishes.load(std::memory_order_relaxed);
  if (__builtin_expect(wished != 0, 0))
    record_more(fn, state, wished, state.open.depth() - 1, written);
  return nullptr;
}

__attribute__((noinline)) std::unique_ptr<at::ObserverContext> begin_timed(
    const at::RecordFunction& fn, ThreadState& state) {
  state.begins_until_timed = kTimedEvery;
  state.watch.start();
  auto context = begin_any(fn, state);
  const unsigned wished = wishes.load(std::memory_order_relaxed);
  if (wished == 0) state.watch.lap(CostPath::Begin);
  state.watch.stop();
  add_timed_operator(fn, (wished & kShapes) != 0);
  return context;
}

// Nearly all operators take one straight path: the program evicts our instructions from the cache
// too, and each cache line costs.
std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& fn) {
  ThreadState& state = thread_state();
  if (__builtin_expect(--state.begins_until_timed == 0, 0)) return begin_timed(fn, state);
  return begin_any(fn, state);
}

inline __attribute__((always_inline)) void end_any(ThreadState& state,
                                                   at::ObserverContext* context) {
  if (context != nullptr) {
    sonde_range_end(static_cast<RangeContext*>(context)->range);
    return;
  }
  if (state.open.pop()) detail::write_end(*state.cursor);
}

__attribute__((noinline)) void end_timed(ThreadState& state, at::ObserverContext* context) {
  state.ends_until_timed = kTimedEvery;
  const std::int64_t before_ns = cost_clock_ns();
  end_any(state, context);
  add_cost(CostPath::End, cost_clock_ns() - before_ns);
  follow_costs(&run_quietly);
}

void on_end(const at::RecordFunction& /*fn*/, at::ObserverContext* context) {
  ThreadState& state = thread_state();
  if (__builtin_expect(--state.ends_until_timed == 0, 0)) return end_timed(state, context);
  end_any(state, context);
}

// The source that sessions see. The interface between this library and libsonde is C, because torch
// may have been built with another ABI of the C++ library.
class TorchSource {
 public:
  void prepare(const sonde_request& request) {
    const std::lock_guard lock(mutex_);
    shapes_ = request.record_shapes != 0;
    memory_ = request.profile_memory != 0;
    stacks_ = request.with_stack != 0;
    modules_ = request.with_modules != 0;
    native_stacks_ = request.with_native_stack != 0;
    if (stacks_) prepare_call_stacks();
  }

  void start() {
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    window.fetch_add(1);
    ++running_;
    serve();
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    if (running_ == 0) return;
    finish_measuring();
    tell_costs();
    --running_;
    if (running_ == 0) {
      leave();
    } else {
      serve();
    }
  }

  // Called at the end of the program, while torch still has its callbacks.
  void end() {
    const std::lock_guard lock(mutex_);
    end_measuring();
    if (running_ > 0) tell_costs();
    if (std::exchange(running_, 0) > 0) leave();
    is_over_ = true;
  }

 private:
  // Serves the sessions that record, with what the last prepare() asked for.
  void serve() {
    // Threads forget the stacks of operators that began before any were wanted.
    if (stacks_ && (wishes.load() & kStacks) == 0) window.fetch_add(1);
    wishes.store((shapes_ ? kShapes : 0) | (shapes_ && memory_ ? kTensors : 0) |
                 (stacks_ ? kStacks : 0) | (stacks_ && native_stacks_ ? kNativeStacks : 0) |
                 (modules_ ? kModules : 0));
    report_memory(memory_);
    if (has_callback_ && shapes_ == callback_has_inputs_) return;
    if (has_callback_) at::removeCallback(callback_);
    has_callback_ = true;
    callback_has_inputs_ = shapes_;
    callback_ = at::addGlobalCallback(
        at::RecordFunctionCallback(&on_begin, &on_end).needsInputs(shapes_).needsIds(true));
    find_steps_after_others();
  }
  void leave() {
    at::removeCallback(callback_);
    has_callback_ = false;
    report_memory(false);
  }

  std::mutex mutex_;
  bool shapes_ = false;
  bool memory_ = false;
  bool stacks_ = false;
  bool modules_ = false;
  bool native_stacks_ = false;
  int running_ = 0;
  bool is_over_ = false;
  bool has_callback_ = false;
  bool callback_has_inputs_ = false;
  at::CallbackHandle callback_ = 0;
};

// Leaked: callbacks may run while the program's statics are destroyed.
TorchSource& torch_source() {
  static auto* const source = new TorchSource;
  return *source;
}

int prepare(void* /*self*/, const sonde_request* request, char* /*why*/,
            std::size_t /*why_bytes*/) {
  torch_source().prepare(*request);
  return 0;
}
void start(void* /*self*/) {
  torch_source().start();
}
void stop(void* /*self*/) {
  torch_source().stop();
}

const sonde_plugin kPlugin = {
    sizeof(kPlugin), SONDE_ACTIVITY_CPU, "torch", nullptr, prepare, start, stop, nullptr};

}  // namespace

void attach() {
  // Torch keeps its callbacks in a static that is made at its first use, now at the latest. Exit
  // handlers registered after that run before it is destroyed.
  static const bool is_first = [] {
    static_cast<void>(at::hasGlobalCallbacks());
    std::atexit([] {
      torch_source().end();
      end_finding_steps();
      end_tool_ranges();
      end_execution_trace();
    });
    return true;
  }();
  static_cast<void>(is_first);
  sonde_add_plugin(&kPlugin);
  attach_tool_ranges();
  attach_execution_trace();
  find_steps();
}

namespace {

__attribute__((constructor)) void attach_when_loaded() {
  attach();
}

}  // namespace
}  // namespace sonde::torch

// For programs that were not linked with this library: the agent of `sonde run` calls it.
extern "C" __attribute__((visibility("default"))) int sonde_adapter_attach(void) {
  sonde::torch::attach();
  return 0;
}
