// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Structs from callers that were built with another version of our headers. Their first field is
// the size they had there.
//
//   if (const KnownStruct<sonde_op> op(given); op) use(op->name);

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "sonde/source/device.h"
#include "sonde/source/op.h"

namespace sonde::detail {

// For each struct: the smallest size that is accepted, and the defaults of missing fields.
template <typename T>
struct StructRules;

#define SONDE_END_OF(Struct, field) (offsetof(Struct, field) + sizeof(Struct::field))

template <>
struct StructRules<sonde_op> {
  static constexpr std::size_t kLeast = SONDE_END_OF(sonde_op, scope);
  static void fill(sonde_op& op) { op.sequence_number = -1; }
};
template <>
struct StructRules<sonde_tensor> {
  static constexpr std::size_t kLeast = SONDE_END_OF(sonde_tensor, storage_address);
  static void fill(sonde_tensor& /*tensor*/) {}
};
template <>
struct StructRules<sonde_allocation> {
  static constexpr std::size_t kLeast = SONDE_END_OF(sonde_allocation, bytes);
  static void fill(sonde_allocation& allocation) {
    allocation.total_allocated_bytes = -1;
    allocation.total_reserved_bytes = -1;
    allocation.device_index = -1;
  }
};
template <>
struct StructRules<sonde_api_call> {
  static constexpr std::size_t kLeast = SONDE_END_OF(sonde_api_call, kind);
  static void fill(sonde_api_call& /*call*/) {}
};
template <>
struct StructRules<sonde_device_span> {
  static constexpr std::size_t kLeast = SONDE_END_OF(sonde_device_span, duration_ns);
  static void fill(sonde_device_span& span) { span.stream = SONDE_NO_STREAM; }
};
template <>
struct StructRules<sonde_kernel> {
  static constexpr std::size_t kLeast = SONDE_END_OF(sonde_kernel, block);
  static void fill(sonde_kernel& kernel) {
    kernel.priority = std::numeric_limits<std::int16_t>::min();
  }
};
template <>
struct StructRules<sonde_copy> {
  static constexpr std::size_t kLeast = SONDE_END_OF(sonde_copy, kind);
  static void fill(sonde_copy& copy) {
    copy.source_device = -1;
    copy.destination_device = -1;
  }
};
template <>
struct StructRules<sonde_sync> {
  static constexpr std::size_t kLeast = SONDE_END_OF(sonde_sync, kind);
  static void fill(sonde_sync& sync) {
    sync.event_id = 0xffffffff;
    sync.wait_on_stream = SONDE_NO_STREAM;
  }
};
template <>
struct StructRules<sonde_device_allocation> {
  static constexpr std::size_t kLeast = SONDE_END_OF(sonde_device_allocation, device_type);
  static void fill(sonde_device_allocation& /*allocation*/) {}
};
template <>
struct StructRules<sonde_device_properties> {
  static constexpr std::size_t kLeast = SONDE_END_OF(sonde_device_properties, index);
  static void fill(sonde_device_properties& /*device*/) {}
};

#undef SONDE_END_OF

// A struct of this version: the caller's own if it has every field we know, else a copy of what it
// has. False if it is too small. Must not outlive the caller's struct.
template <typename T>
class KnownStruct {
 public:
  explicit KnownStruct(const T* given) noexcept {
    static_assert(offsetof(T, size) == 0 && std::is_trivially_copyable_v<T>);
    if (given->size >= sizeof(T)) {
      known_ = given;
    } else if (given->size >= StructRules<T>::kLeast) {
      copy_ = {};
      StructRules<T>::fill(copy_);
      std::memcpy(&copy_, given, given->size);
      known_ = &copy_;
    }
  }
  KnownStruct(const KnownStruct&) = delete;
  KnownStruct& operator=(const KnownStruct&) = delete;

  explicit operator bool() const noexcept { return known_ != nullptr; }
  const T& operator*() const noexcept { return *known_; }
  const T* operator->() const noexcept { return known_; }

 private:
  const T* known_ = nullptr;
  T copy_;
};

}  // namespace sonde::detail
