// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// sonde/sonde.h and sonde/source/op.h.

#include <array>
#include <atomic>
#include <cstring>
#include <string_view>

#include "record/known_struct.h"
#include "record/listeners.h"
#include "record/text_record.h"
#include "record/write.h"
#include "sonde/detail/put_record.h"
#include "sonde/sonde.h"
#include "sonde/source/op.h"
#include "wire/places.h"

namespace sonde::detail {
namespace {

static_assert(SONDE_SCOPE_PYTHON_CALL == kPythonCallScope);

std::atomic<std::uint64_t> next_flow{1};

// Tools need a terminating 0. They get only the beginning of a longer text: stacks may be small.
class TextWithEnd {
 public:
  explicit TextWithEnd(std::string_view text) noexcept {
    text = text.substr(0, sizeof(text_) - 1);
    if (!text.empty()) std::memcpy(text_, text.data(), text.size());
    text_[text.size()] = '\0';
  }
  const char* get() const noexcept { return text_; }

 private:
  char text_[512];
};

std::atomic<void (*)()> when_missed{nullptr};
std::atomic<void (*)(const char*, std::uint32_t)> when_steps_end{nullptr};

// In the layout of ExtendedKind::OpBegin. Trailing fields that have their default are left out.
struct OpPayload {
  explicit OpPayload(const sonde_op& op) noexcept {
    words = {op_name_word(op.name, op.scope), static_cast<std::uint64_t>(op.sequence_number),
             op.forward_thread, op.record_function_id};
    count = op.record_function_id != 0 ? 4
            : op.forward_thread != 0   ? 3
            : op.sequence_number != -1 ? 2
                                       : 1;
  }
  std::array<std::uint64_t, 4> words;
  std::uint32_t count;
};

__attribute__((noinline)) Written write_range_begin(std::string_view text) noexcept {
  const std::uint64_t id = name_number(text);
  if (id == 0) return write_text(ExtendedKind::RangeInline, text, Loss::Span);
  return write_record(ExtendedKind::BeginRange, &id, 1, Loss::Span);
}

__attribute__((noinline)) void write_range_end(sonde_range range) noexcept {
  const std::uint64_t payload[2] = {range.position, range.thread};
  if (thread_number() == range.thread) {
    write_record(ExtendedKind::EndRange, payload, 1, Loss::End);
  } else {
    write_record(ExtendedKind::EndRangeOf, payload, 2, Loss::End);
  }
}

inline sonde_range record_range(std::string_view text) noexcept {
  Written written = put_range_begin(text);
  if (__builtin_expect(written.position == 0, 0)) written = write_range_begin(text);
  return {written.position, written.thread};
}

inline void record_range_end(sonde_range range) noexcept {
  if (!put_range_end({range.position, range.thread})) write_range_end(range);
}

// What is needed when tools listen besides sessions. It is a separate function so that other calls
// do not pay for it.

__attribute__((noinline)) sonde_range begin_range_told(std::string_view text) noexcept {
  const Listeners who = listeners();
  const sonde_range recorded = (who & kSession) != 0 ? record_range(text) : sonde_range{0, 0};
  return begin_told_range(who, TextWithEnd(text).get(), recorded);
}

__attribute__((noinline)) void end_range_told(sonde_range range) noexcept {
  const std::uint64_t recorded = range.position & (kToldPosition - 1);
  if (recorded != 0) record_range_end({recorded, range.thread});
  if (range.position != 0) end_told_range(range);
}

__attribute__((noinline)) sonde_range tell_op_range(const sonde_op& op,
                                                    sonde_range recorded) noexcept {
  const Listeners who = listeners() & kProbes;
  if (who == 0) return recorded;
  OpName name;
  return begin_told_range(who, name.find(op.name), recorded);
}

__attribute__((noinline)) void tell_mark_named(std::string_view text) noexcept {
  tell_mark(listeners() & kTools, TextWithEnd(text).get());
}

}  // namespace
}  // namespace sonde::detail

using namespace sonde::detail;  // NOLINT(google-build-using-namespace): the C API below
using sonde::PlaceKind;
using sonde::PlaceText;

extern "C" {

int sonde_is_recording(void) {
  return session_records() ? 1 : 0;
}

int sonde_begin(sonde_site* site) {
  return recording() && write_begin(site, WordKind::Begin) ? 1 : 0;
}

void sonde_end(void) {
  write_end();
}

int sonde_lap(sonde_site* site) {
  return write_begin(site, WordKind::Lap) ? 1 : 0;
}

sonde_range sonde_range_begin(const char* name, size_t name_bytes) {
  const std::string_view text(name, name_bytes);
  const std::uint32_t word = listening_word();
  if (word == kSession) return record_range(text);
  return word == 0 ? sonde_range{0, 0} : begin_range_told(text);
}

void sonde_range_end(sonde_range range) {
  // One comparison tests two facts: no tool has seen it, and there is something to end.
  if (range.position - 1 < kToldPosition - 1) return record_range_end(range);
  end_range_told(range);
}

void sonde_text(const char* text, size_t text_bytes) {
  if (!session_records()) return;
  write_text(ExtendedKind::Text, std::string_view(text, text_bytes), Loss::Other);
}

uint64_t sonde_async_begin(sonde_site* site) {
  if (!session_records()) return 0;
  const std::uint64_t payload[2] = {site_number(site), next_async_number()};
  const Written written = write_record(ExtendedKind::AsyncBegin, payload, 2, Loss::Span);
  return written.position != 0 ? payload[1] : 0;
}

void sonde_async_end(uint64_t async) {
  if (async != 0) write_record(ExtendedKind::AsyncEnd, &async, 1, Loss::End);
}

void sonde_instant(sonde_site* site) {
  const std::uint32_t word = listening_word();
  if (word == 0) return;
  if (word != kSession) tell_mark_named(site->name);
  if ((word & kSession) == 0) return;
  const std::uint64_t id = site_number(site);
  write_record(ExtendedKind::Instant, &id, 1, Loss::Other);
}

void sonde_mark(const char* name, size_t name_bytes) {
  const std::string_view text(name, name_bytes);
  const std::uint32_t word = listening_word();
  if (word == 0) return;
  if (word != kSession) tell_mark_named(text);
  if ((word & kSession) == 0) return;
  if (const std::uint64_t id = name_number(text))
    write_record(ExtendedKind::Instant, &id, 1, Loss::Other);
}

void sonde_counter(sonde_site* site, double value) {
  if (!session_records()) return;
  std::uint64_t payload[2] = {site_number(site), 0};
  std::memcpy(&payload[1], &value, sizeof(value));
  write_record(ExtendedKind::Counter, payload, 2, Loss::Other);
}

uint64_t sonde_flow_new(void) {
  return next_flow.fetch_add(1, std::memory_order_relaxed);
}

void sonde_flow_out(uint64_t flow) {
  if (session_records()) write_record(ExtendedKind::FlowOut, &flow, 1, Loss::Other);
}

void sonde_flow_in(uint64_t flow) {
  if (session_records()) write_record(ExtendedKind::FlowIn, &flow, 1, Loss::Other);
}

uint32_t sonde_name(const char* text, size_t text_bytes) {
  return session_records() ? name_number(std::string_view(text, text_bytes)) : 0;
}

int sonde_op_begin(const sonde_op* given) {
  if (!session_records()) return 0;
  const KnownStruct<sonde_op> op(given);
  if (!op) return 0;
  const OpPayload payload(*op);
  ThreadCursor& cursor = sonde_detail_cursor;
  if (put_extended(cursor, ExtendedKind::OpBegin, payload.words.data(), payload.count) != 0)
    return 1;
  return op_begin_slow(payload.words.data(), payload.count) ? 1 : 0;
}

sonde_range sonde_op_range_begin(const sonde_op* given) {
  const std::uint32_t word = listening_word();
  const KnownStruct<sonde_op> op(given);
  if ((word & kSession) == 0 || !op) return {0, 0};
  const OpPayload payload(*op);
  const Written written =
      write_record(ExtendedKind::OpRange, payload.words.data(), payload.count, Loss::Span);
  const sonde_range range = {written.position, written.thread};
  return word == kSession ? range : tell_op_range(*op, range);
}

void sonde_op_missed(void) {
  if (auto* const begin = when_missed.load(std::memory_order_acquire)) begin();
}

void sonde_when_missed(void (*begin)(void)) {
  when_missed.store(begin);
}

void sonde_steps_ended(const char* rule, uint32_t count) {
  if (auto* const listener = when_steps_end.load(std::memory_order_acquire)) listener(rule, count);
}

int sonde_wants_steps(void) {
  return when_steps_end.load(std::memory_order_acquire) != nullptr ? 1 : 0;
}

void sonde_when_steps_end(void (*listener)(const char* rule, uint32_t count)) {
  when_steps_end.store(listener);
}

void sonde_op_inputs(const uint64_t* words, size_t word_count) {
  if (!session_records() || word_count == 0 || word_count > kMaxPayloadWords) return;
  write_record(ExtendedKind::OpInputs, words, static_cast<std::uint32_t>(word_count), Loss::Other);
}

void sonde_op_tensors(const sonde_tensor* tensors, size_t count) {
  if (!session_records()) return;
  RecordWords words;
  const auto flush = [&words] {
    if (words.used() > 0)
      write_record(ExtendedKind::OpTensors, words.data(), words.used(), Loss::Other);
    words.clear();
  };
  // The first struct gives the size of all of them.
  const auto* at = reinterpret_cast<const unsigned char*>(tensors);
  for (size_t i = 0; i < count; ++i, at += tensors->size) {
    const KnownStruct<sonde_tensor> tensor(reinterpret_cast<const sonde_tensor*>(at));
    if (!tensor) break;
    if (words.left() < 3) flush();
    words.add(static_cast<std::uint32_t>(tensor->index) |
              (static_cast<std::uint64_t>(static_cast<std::uint32_t>(tensor->element)) << 32));
    words.add(tensor->tensor_address);
    words.add(tensor->storage_address);
  }
  flush();
}

void sonde_allocated(const sonde_allocation* given) {
  if (!session_records()) return;
  const KnownStruct<sonde_allocation> allocation(given);
  if (!allocation) return;
  const std::uint64_t payload[5] = {
      allocation->address, static_cast<std::uint64_t>(allocation->bytes),
      static_cast<std::uint64_t>(allocation->total_allocated_bytes),
      static_cast<std::uint64_t>(allocation->total_reserved_bytes),
      std::uint64_t{allocation->device_type} | (std::uint64_t{allocation->flags} << 8) |
          (static_cast<std::uint64_t>(static_cast<std::uint32_t>(allocation->device_index)) << 32)};
  write_record(ExtendedKind::Allocation, payload, 5, Loss::Other);
}

void sonde_tensor_role(uint64_t storage_address, uint32_t purpose, const char* name) {
  if (!session_records() || storage_address == 0) return;
  const std::uint64_t payload[2] = {
      storage_address, sonde_name(name, std::strlen(name)) | (std::uint64_t{purpose} << 32)};
  write_record(ExtendedKind::TensorRole, payload, 2, Loss::Other);
}

uint32_t sonde_frame(const char* function, const char* file, uint32_t line) {
  if (!session_records()) return 0;
  return place_number(PlaceText(PlaceKind::Frame).text(function).text(file).number(line).view());
}

uint32_t sonde_python_frame(const char* function, const char* file, uint32_t line) {
  if (!session_records()) return 0;
  return place_number(PlaceText(PlaceKind::Python).text(function).text(file).number(line).view());
}

uint32_t sonde_native_frame(const char* binary, const char* build_id, uint64_t offset) {
  if (!session_records()) return 0;
  return place_number(
      PlaceText(PlaceKind::Address).text(binary).text(build_id).number(offset, 16).view());
}

uint32_t sonde_stack(const uint32_t* frames, size_t count) {
  if (!session_records() || count == 0) return 0;
  PlaceText text(PlaceKind::Stack);
  for (std::size_t i = 0; i < count && i < sonde::kMaxStackFrames; ++i)
    text.number(frames[i], 10, ',');
  return place_number(text.view());
}

uint32_t sonde_module(uint32_t parent, const char* name, const char* class_name,
                      const char* method) {
  if (!session_records()) return 0;
  return place_number(
      PlaceText(PlaceKind::Module).number(parent).text(name).text(class_name).text(method).view());
}

void sonde_op_place(uint32_t stack, uint32_t module) {
  if (!session_records()) return;
  const std::uint64_t payload = stack | (std::uint64_t{module} << 32);
  if (payload != 0) write_record(ExtendedKind::OpPlace, &payload, 1, Loss::Other);
}

void sonde_thread_is(uint64_t logical_number) {
  if (session_records()) write_record(ExtendedKind::ThreadNumber, &logical_number, 1, Loss::Other);
}

}  // extern "C"
