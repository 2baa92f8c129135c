// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// sonde/source/device.h, and sonde_path_cost of sonde/source/op.h.

#include "sonde/source/device.h"

#include <array>
#include <atomic>
#include <cstring>

#include "record/known_struct.h"
#include "record/listeners.h"
#include "record/write.h"
#include "sonde/detail/thread_cursor.h"
#include "sonde/source/op.h"
#include "wire/device.h"

namespace sonde::detail {
namespace {

template <std::size_t Words>
void write_words(ExtendedKind kind, const std::array<std::uint64_t, Words>& words) {
  write_record(kind, words.data(), static_cast<std::uint32_t>(Words), Loss::Other);
}

void write_span(const sonde_device_span* given) {
  if (!session_records()) return;
  const KnownStruct<sonde_device_span> span(given);
  if (!span) return;
  std::array<std::uint64_t, kDeviceSpanWords> words;
  span_fields(*span, FieldPacker(words.data()));
  write_words(ExtendedKind::DeviceSpan, words);
}

// Writes the span, then what `put` makes of `more`; the span alone if `more` is too small.
template <std::size_t MoreWords, typename More, typename Put>
void write_span_and(const sonde_device_span* given, const More* more, const Put& put) {
  if (!session_records()) return;
  const KnownStruct<More> known(more);
  const KnownStruct<sonde_device_span> span(given);
  if (!known || !span) return write_span(given);
  std::array<std::uint64_t, kDeviceSpanWords + MoreWords> words;
  span_fields(*span, FieldPacker(words.data()));
  put(*known, FieldPacker(words.data() + kDeviceSpanWords));
  write_words(ExtendedKind::DeviceSpan, words);
}

}  // namespace
}  // namespace sonde::detail

using namespace sonde;          // NOLINT(google-build-using-namespace): the C API below
using namespace sonde::detail;  // NOLINT(google-build-using-namespace)

extern "C" {

uint64_t sonde_correlation_new(void) {
  static std::atomic<std::uint64_t> next{std::uint64_t{1} << 40};
  return next.fetch_add(1, std::memory_order_relaxed);
}

int sonde_api_begin(const sonde_api_call* given) {
  if (!session_records()) return 0;
  const KnownStruct<sonde_api_call> call(given);
  if (!call) return 0;
  const std::uint64_t words[2] = {api_name_word(*call), call->correlation};
  if (put_extended(sonde_detail_cursor, ExtendedKind::ApiBegin, words, 2) != 0) return 1;
  return write_record(ExtendedKind::ApiBegin, words, 2, Loss::Span).position != 0 ? 1 : 0;
}

void sonde_device_ran(const sonde_device_span* span) {
  write_span(span);
}

void sonde_kernel_ran(const sonde_device_span* span, const sonde_kernel* kernel) {
  write_span_and<kKernelWords>(span, kernel, [](const sonde_kernel& known, FieldPacker fields) {
    kernel_fields(known, fields);
  });
}

void sonde_copy_ran(const sonde_device_span* span, const sonde_copy* copy) {
  write_span_and<kCopyWords>(
      span, copy, [](const sonde_copy& known, FieldPacker fields) { copy_fields(known, fields); });
}

void sonde_sync_ran(const sonde_device_span* span, const sonde_sync* sync) {
  write_span_and<kSyncWords>(
      span, sync, [](const sonde_sync& known, FieldPacker fields) { sync_fields(known, fields); });
}

void sonde_device_allocated(const sonde_device_allocation* given) {
  if (!session_records()) return;
  const KnownStruct<sonde_device_allocation> allocation(given);
  if (!allocation) return;
  std::array<std::uint64_t, kDeviceAllocationWords> words;
  device_allocation_fields(*allocation, FieldPacker(words.data()));
  write_words(ExtendedKind::DeviceAllocation, words);
}

void sonde_graph_node(uint64_t node_id, uint64_t copied_from) {
  if (!session_records()) return;
  write_words(ExtendedKind::GraphNode, std::array<std::uint64_t, 2>{node_id, copied_from});
}

void sonde_device_is(const sonde_device_properties* given) {
  if (!session_records()) return;
  const KnownStruct<sonde_device_properties> device(given);
  if (!device) return;
  std::array<std::uint64_t, kDeviceWords> words;
  device_fields(*device, FieldPacker(words.data()));
  write_words(ExtendedKind::Device, words);
}

void sonde_metadata_is(uint32_t key, uint32_t json) {
  if (!session_records() || key == 0 || json == 0) return;
  write_words(ExtendedKind::Metadata,
              std::array<std::uint64_t, 1>{key | (std::uint64_t{json} << 32)});
}

void sonde_lost(uint8_t kind, uint32_t name, uint64_t count) {
  if (!session_records() || count == 0) return;
  write_words(ExtendedKind::SourceLoss,
              std::array<std::uint64_t, 2>{name | (std::uint64_t{kind} << 32), count});
}

void sonde_path_cost(const char* path, uint64_t picoseconds) {
  if (path == nullptr) return;
  sonde_lost(SONDE_LOST_EVENT_COST_PS, sonde_name(path, std::strlen(path)), picoseconds);
}

}  // extern "C"
