// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writing records that are no plain scopes: what the C API is made of. Nothing here blocks; nothing
// is written while no stream runs.

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "sonde/detail/put_record.h"
#include "sonde/detail/words.h"
#include "sonde/sonde.h"

namespace sonde::detail {

// What it is that gets lost if there is no room: LiveLosses counts them apart.
enum class Loss { Span, End, Other };

struct Written {
  std::uint64_t position = 0;  // 0: lost, or nothing records
  std::uint64_t thread = 0;
};
Written write_record(ExtendedKind kind, const std::uint64_t* payload, std::uint32_t payload_count,
                     Loss loss) noexcept;

// What a record holds if it ends with a text: words, then bytes, which are padded with zeros. They
// go straight into the chunk: a signal handler's stack may have no room to put them together.
struct TextPayload {
  const std::uint64_t* words;
  std::uint32_t word_count;
  std::string_view bytes;

  std::uint32_t size() const noexcept {
    return word_count + static_cast<std::uint32_t>((bytes.size() + 7) / 8);
  }
  void store(std::uint64_t* at) const noexcept;
};
// At most kMaxPayloadWords.
Written write_record(ExtendedKind kind, const TextPayload& payload, Loss loss) noexcept;

// The id of a place or a name, given out at first sight; 0 if there are too many.
std::uint32_t site_number(sonde_site* site) noexcept;
// The number of a place in the words of wire/places.h; 0 if it cannot be had.
std::uint32_t place_number(std::string_view place) noexcept;
std::uint32_t name_number(std::string_view text) noexcept;

// An operator's begin where put_extended found no room, or others listen too; the payload of an
// OpBegin.
bool op_begin_slow(const std::uint64_t* payload, std::uint32_t payload_count) noexcept;

// An operator's name without its overload, from its number; "" if there is none.
class OpName {
 public:
  const char* find(std::uint32_t number) noexcept;

 private:
  char text_[256];
};

// body(the calling thread's record) while no signal handler can record on this thread; not at all
// in one that has interrupted the recorder.
struct ThreadRecord;
void call_while_busy(void (*body)(ThreadRecord&, void*), void* argument) noexcept;
template <typename Body>
void while_busy(Body&& body) noexcept {
  call_while_busy(
      [](ThreadRecord& record, void* argument) {
        (*static_cast<std::remove_reference_t<Body>*>(argument))(record);
      },
      &body);
}

// Of the calling thread; 0 before its first record.
std::uint64_t thread_number() noexcept;
// Unique in the process; 0 while nothing records.
std::uint64_t next_async_number() noexcept;

}  // namespace sonde::detail
