// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writes records other than plain scopes; the C API is built on it. Nothing here blocks, and
// nothing is written while no stream runs.

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "sonde/detail/put_record.h"
#include "sonde/detail/words.h"
#include "sonde/sonde.h"

namespace sonde::detail {

// What is lost if there is no room; LiveLosses counts the kinds separately.
enum class Loss { Span, End, Other };

struct Written {
  std::uint64_t position = 0;  // 0: lost, or nothing records
  std::uint64_t thread = 0;
};
Written write_record(ExtendedKind kind, const std::uint64_t* payload, std::uint32_t payload_count,
                     Loss loss) noexcept;

// The content of a record that ends with a text: words, then bytes, padded with zeros. They are
// written straight into the chunk, because a signal handler's stack may be too small for a copy.
struct TextPayload {
  const std::uint64_t* words;
  std::uint32_t word_count;
  std::string_view bytes;

  std::uint32_t size() const noexcept {
    return word_count + static_cast<std::uint32_t>((bytes.size() + 7) / 8);
  }
  void store(std::uint64_t* at) const noexcept;
};
// The way that most ranges take: the thread has seen the name, and its chunk has room. Nothing is
// written, and no loss counted, if that is not so.
Written put_range_begin(std::string_view name) noexcept;
bool put_range_end(const Written& begin) noexcept;
// At most kMaxPayloadWords.
Written write_record(ExtendedKind kind, const TextPayload& payload, Loss loss) noexcept;

// The number of a place or a name, assigned at its first use; 0 if there are too many.
std::uint32_t site_number(sonde_site* site) noexcept;
// The number of a place as wire/places.h writes it; 0 if it has none.
std::uint32_t place_number(std::string_view place) noexcept;
std::uint32_t name_number(std::string_view text) noexcept;

// Begins an operator if put_extended found no room, or if tools listen too. Takes the payload of an
// OpBegin.
bool op_begin_slow(const std::uint64_t* payload, std::uint32_t payload_count) noexcept;

// An operator's name without its overload, from its number; "" if there is none.
class OpName {
 public:
  const char* find(std::uint32_t number) noexcept;

 private:
  char text_[256];
};

// Calls body(the calling thread's record) while no signal handler can record on this thread. Does
// not call it in a handler that interrupted the recorder.
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

// The number of the calling thread; 0 before its first record.
std::uint64_t thread_number() noexcept;
// Unique in the process; 0 while nothing records.
std::uint64_t next_async_number() noexcept;

}  // namespace sonde::detail
