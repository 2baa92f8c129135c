// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/cuda/api_calls.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "sonde/detail/put_record.h"
#include "sonde/source/device.h"
#include "sonde/source/op.h"

namespace sonde::cuda {
namespace {

// Greater than any number that CUPTI gives a function today.
constexpr std::uint32_t kMostCallbacks = 2048;

// Numbers of names, by callback id; read by callbacks.
using Names = std::array<std::atomic<std::uint32_t>, kMostCallbacks>;
Names runtime_names{};
Names driver_names{};

// How deep this thread is in calls that CUPTI reported, counted from `depth_base`, and whether the
// outermost was recorded. The runtime calls the driver, whose call is then not shown. The loader
// has room for only few bytes of this kind.
__thread std::uint32_t depth __attribute__((tls_model("initial-exec"))) = 0;
__thread bool is_open __attribute__((tls_model("initial-exec"))) = false;

// Another one each time recording starts: whoever was in a call when it stopped does not hear of
// the call's return, and would otherwise count it for ever.
constexpr std::uint32_t kDeepest = 256;
std::atomic<std::uint32_t> depth_base{0};

// 0 too for a thread that has not counted since recording started.
inline __attribute__((always_inline)) std::uint32_t depth_from(std::uint32_t base) {
  const std::uint32_t found = depth - base;
  return found < kDeepest ? found : 0;
}

// Straight-line code. CUDA's own work for a launch evicts our instructions from the cache, and each
// cache line costs.
inline __attribute__((always_inline)) void begin(bool is_driver, std::uint32_t id,
                                                 std::uint32_t correlation) {
  const std::uint32_t base = depth_base.load(std::memory_order_relaxed);
  const std::uint32_t before = depth_from(base);
  depth = base + before + 1;
  if (before != 0) return;
  sonde_api_call call;
  call.size = sizeof(call);
  call.name = (is_driver ? driver_names : runtime_names)[id].load(std::memory_order_acquire);
  call.kind = is_driver ? SONDE_SPAN_CUDA_DRIVER : SONDE_SPAN_CUDA_RUNTIME;
  call.callback_id = id;
  call.correlation = correlation;
  is_open = call.name != 0 && detail::write_api_begin(detail::sonde_detail_cursor, call);
}

std::atomic<void (*)()> first_return{nullptr};

__attribute__((noinline)) void return_first() {
  if (auto* const action = first_return.exchange(nullptr)) action();
}

inline __attribute__((always_inline)) void end() {
  const std::uint32_t base = depth_base.load(std::memory_order_relaxed);
  const std::uint32_t before = depth_from(base);
  if (before == 0) return;
  depth = base + before - 1;
  if (before != 1) return;
  if (is_open) detail::write_end();
  is_open = false;
  if (__builtin_expect(first_return.load(std::memory_order_relaxed) != nullptr, 0)) return_first();
}

using GetNodeId = int (*)(void* node, std::uint64_t* id);
std::atomic<GetNodeId> get_node_id{nullptr};

__attribute__((noinline)) void on_graph_node(std::uint32_t id, const ResourceData& resource) {
  const GetNodeId get = get_node_id.load(std::memory_order_relaxed);
  if (get == nullptr || resource.descriptor == nullptr) return;
  const auto& graph = *static_cast<const GraphData*>(resource.descriptor);
  std::uint64_t node = 0;
  std::uint64_t original = 0;
  if (get(graph.node, &node) != 0) return;
  if (id == kGraphNodeCloned && get(graph.original_node, &original) != 0) return;
  sonde_graph_node(node, original);
}

void on_call(void* /*user*/, std::uint32_t domain, std::uint32_t id, const void* data) {
  if (__builtin_expect(domain == static_cast<std::uint32_t>(CallbackDomain::Resource), 0))
    return on_graph_node(id, *static_cast<const ResourceData*>(data));
  if (id >= kMostCallbacks) return;
  const auto& call = *static_cast<const CallbackData*>(data);
  if (call.site == 0) {
    begin(domain == static_cast<std::uint32_t>(CallbackDomain::Driver), id, call.correlation_id);
  } else {
    end();
  }
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [name](std::string_view text) { return name.starts_with(text); });
}

bool is_any(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The calls that Kineto leaves out.
bool is_noise(std::string_view function) {
  return is_any(function, {"cudaGetDevice", "cudaSetDevice", "cudaGetLastError", "cudaEventCreate",
                           "cudaEventCreateWithFlags", "cudaEventDestroy"});
}

// Launches, copies, graphs, waits, memory. `prefix` is how the names of the interface begin.
bool matters(std::string_view function, std::string_view prefix) {
  if (!function.starts_with(prefix)) return false;
  const std::string_view rest = function.substr(prefix.size());
  if (rest.find("Async") != std::string_view::npos && rest.starts_with("Mem")) return true;
  return starts_with_any(rest, {"Launch",
                                "Memcpy",
                                "Memset",
                                "GraphLaunch",
                                "GraphInstantiate",
                                "StreamSynchronize",
                                "StreamWaitEvent",
                                "StreamBeginCapture",
                                "StreamEndCapture",
                                "DeviceSynchronize",
                                "CtxSynchronize",
                                "EventSynchronize",
                                "EventRecord",
                                "Malloc",
                                "Free",
                                "HostAlloc",
                                "MemAlloc",
                                "MemFree",
                                "MemCreate",
                                "MemMap",
                                "MemUnmap",
                                "MemRelease",
                                "ModuleLoad",
                                "LibraryLoad"});
}

// CUPTI's callback at a launch of the runtime asks the driver for the kernel's name every time. It
// costs several times as much as the callback in the driver, which every launch reaches.
bool is_seen_in_driver(std::string_view runtime_function) {
  return runtime_function.starts_with("cudaLaunch");
}

}  // namespace

std::string_view function_of(std::string_view callback_name) {
  const std::size_t version = callback_name.rfind("_v");
  if (version == std::string_view::npos || version + 2 == callback_name.size())
    return callback_name;
  const std::string_view digits = callback_name.substr(version + 2);
  const bool is_number = digits.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? callback_name.substr(0, version) : callback_name;
}

bool is_recorded(CallbackDomain domain, std::string_view callback_name, Level level) {
  if (level == Level::Lean) return false;
  const std::string_view function = function_of(callback_name);
  if (domain == CallbackDomain::Driver) return matters(function, "cu");
  return level == Level::Full ? function.starts_with("cuda") && !is_noise(function)
                              : matters(function, "cuda") && !is_seen_in_driver(function);
}

Result<void> ApiCalls::open(const Cupti& cupti) {
  cupti_ = &cupti;
  if (subscriber_ != nullptr) return {};
  if (const int failed = cupti.subscribe(&subscriber_, &on_call, nullptr); failed != 0) {
    subscriber_ = nullptr;
    return Failure(ErrorCode::Unsupported,
                   "CUPTI cannot be used (" + cupti.text_of(failed) +
                       "): it serves one profiler of a process, and another has it. torch.profiler "
                       "keeps it until the process ends");
  }
  return {};
}

void ApiCalls::enable(CallbackDomain domain, Level level, bool on) {
  const auto number = static_cast<std::uint32_t>(domain);
  Names& names = domain == CallbackDomain::Driver ? driver_names : runtime_names;
  for (std::uint32_t id = 1; id < kMostCallbacks; ++id) {
    const char* name = nullptr;
    if (cupti_->get_callback_name(number, id, &name) != 0 || name == nullptr) break;
    if (!is_recorded(domain, name, level)) continue;
    if (on) {
      const std::string_view function = function_of(name);
      names[id].store(sonde_name(function.data(), function.size()), std::memory_order_release);
    }
    cupti_->enable_callback(on ? 1 : 0, subscriber_, number, id);
  }
}

void ApiCalls::start(Level level) {
  level_ = level;
  if (level == Level::Lean) return;
  depth_base.fetch_add(kDeepest, std::memory_order_relaxed);
  enable(CallbackDomain::Runtime, level, true);
  enable(CallbackDomain::Driver, level, true);
  get_node_id.store(cupti_->get_graph_node_id);
  enable_graph_nodes(true);
}

void ApiCalls::enable_graph_nodes(bool on) {
  if (cupti_->get_graph_node_id == nullptr) return;
  const auto domain = static_cast<std::uint32_t>(CallbackDomain::Resource);
  for (const std::uint32_t id : {kGraphNodeCreated, kGraphNodeCloned})
    cupti_->enable_callback(on ? 1 : 0, subscriber_, domain, id);
}

void ApiCalls::at_first_return(void (*action)()) {
  first_return.store(action);
}

void ApiCalls::stop() {
  if (level_ == Level::Lean) return;
  enable(CallbackDomain::Runtime, level_, false);
  enable(CallbackDomain::Driver, level_, false);
  enable_graph_nodes(false);
}

}  // namespace sonde::cuda
