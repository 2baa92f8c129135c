// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The part of CUPTI, NVIDIA's tracing library, that Sonde uses. It is declared here so that Sonde
// builds without CUDA, and opened at run time so that Sonde runs without it.

#include <cstddef>
#include <cstdint>
#include <string>

#include "sonde/result.h"

namespace sonde::cuda {

enum class ActivityKind : std::uint32_t {
  Memcpy = 1,
  Memset = 2,
  Driver = 4,
  Runtime = 5,
  ConcurrentKernel = 10,
  Overhead = 17,
  MemcpyPeer = 22,
  CudaEvent = 36,
  Synchronization = 38,
  ExternalCorrelation = 39,
  Memory = 49,  // MEMORY2, which reports allocations and frees separately
};

enum class CallbackDomain : std::uint32_t { Driver = 1, Runtime = 2, Resource = 3 };

// For CallbackDomain::Resource.
constexpr std::uint32_t kGraphNodeCreated = 13;
constexpr std::uint32_t kGraphNodeCloned = 20;

struct ResourceData {
  void* context;
  void* handle;
  const void* descriptor;
};
struct GraphData {
  void* graph;
  void* original_graph;
  void* node;
  void* original_node;
};

struct CallbackData {
  std::int32_t site;  // 0: the call begins, 1: it returns
  const char* function_name;
  const void* parameters;
  void* return_value;
  const char* symbol_name;
  void* context;
  std::uint32_t context_uid;
  std::uint64_t* correlation_data;
  std::uint32_t correlation_id;
};

using Subscriber = void*;
using Callback = void (*)(void* user, std::uint32_t domain, std::uint32_t id, const void* data);
using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* size,
                                 std::size_t* max_records);
using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                                 std::size_t size, std::size_t valid_size);

// Its functions. Once it is open, only the optional ones may be null.
struct Cupti {
  int (*get_version)(std::uint32_t*) = nullptr;
  int (*get_result_string)(int, const char**) = nullptr;
  int (*subscribe)(Subscriber*, Callback, void*) = nullptr;
  int (*unsubscribe)(Subscriber) = nullptr;
  int (*enable_callback)(std::uint32_t, Subscriber, std::uint32_t, std::uint32_t) = nullptr;
  int (*get_callback_name)(std::uint32_t, std::uint32_t, const char**) = nullptr;
  int (*register_callbacks)(BufferRequested, BufferCompleted) = nullptr;
  int (*activity_enable)(std::uint32_t) = nullptr;
  int (*activity_disable)(std::uint32_t) = nullptr;
  int (*flush_all)(std::uint32_t) = nullptr;
  int (*get_dropped)(void*, std::uint32_t, std::size_t*) = nullptr;
  int (*set_attribute)(std::uint32_t, std::size_t*, void*) = nullptr;
  int (*get_next_record)(std::uint8_t*, std::size_t, std::uint8_t**) = nullptr;
  int (*get_timestamp)(std::uint64_t*) = nullptr;
  int (*enable_all_sync_records)(std::uint8_t) = nullptr;             // optional
  int (*get_graph_node_id)(void* node, std::uint64_t* id) = nullptr;  // optional

  std::uint32_t version = 0;
  std::string path;

  std::string text_of(int result) const;
};

// Opens the library that the process has loaded already, or else the newest one found.
Result<Cupti> open_cupti();

// Versions as cuptiGetVersion numbers them.
constexpr std::uint32_t kCupti118 = 18;
constexpr std::uint32_t kCupti120 = 19;
constexpr std::uint32_t kCupti122 = 20;
constexpr std::uint32_t kCupti124 = 22;
constexpr std::uint32_t kCupti126 = 24;
constexpr std::uint32_t kCupti128 = 26;
constexpr std::uint32_t kCupti129 = 27;
constexpr std::uint32_t kCupti130 = 130000;
constexpr std::uint32_t kCupti131 = 130100;

// "12.8", "13.0"
std::string cupti_version_text(std::uint32_t version);

}  // namespace sonde::cuda
