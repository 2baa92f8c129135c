// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arrays among an event's arguments: where they are, and how known arrays are recognised.

#include <cstring>

#include "convert/json/json_text.h"
#include "convert/kineto/read/event_parser.h"

namespace sonde {

// Notes where the arrays of a call are. Returns true and moves `at` past them if they were known.
bool EventParser::arrays(ArgKey key, const char*& at) {
  if (arrays_begin_ == nullptr) {
    if (predicting_ && predicted(key, at)) return true;
    arrays_begin_ = at;
    first_array_ = key;
  } else if (event_.known_arguments != kNoRaw) {
    predicting_ = false;
    at = broken(at);
    return true;
  } else {
    // Only the key of this array may come between.
    const char* comma = skip_space(arrays_end_);
    const char* quote = skip_space(comma + 1);
    const char* end_of_key = string_end(quote + 1, end_);
    arrays_apart_ |= end_of_key == nullptr || skip_space(skip_space(end_of_key + 1) + 1) != at;
  }
  return false;
}

// Calls come in the same order again and again: the name and the previous list predict the list.
EventParser::Prediction& EventParser::prediction(ArgKey first) {
  const std::uint64_t key =
      event_.name ^ (std::uint64_t{last_list_} << 32) ^ (static_cast<std::uint64_t>(first) << 24);
  return predictions_[detail::mix(key, detail::kHashA) & (kPredictions - 1)];
}

bool EventParser::predicted(ArgKey first, const char*& at) {
  const Prediction& guess = prediction(first);
  if (guess.first != first || guess.size > static_cast<std::size_t>(end_ - at)) return false;
  if (std::memcmp(guess.text, at, guess.size) != 0) return false;
  arrays_begin_ = at;
  event_.known_arguments = guess.list;
  at += guess.size;
  return true;
}

RawId EventParser::argument_list() {
  if (event_.known_arguments != kNoRaw) return last_list_ = event_.known_arguments;
  if (!event_.present.has_any(kArrays)) return kNoRaw;
  const auto raw = [this](ArgKey key) {
    return event_.present.has(key) ? event_[key].text() : std::string_view();
  };
  const RawId list =
      staged_.argument_lists.id_of({raw(ArgKey::InputDims), raw(ArgKey::InputStrides),
                                    raw(ArgKey::InputType), raw(ArgKey::ConcreteInputs)});
  if (!arrays_apart_ && !mending_ && arrays_end_ > arrays_begin_) {
    prediction(first_array_) = {
        arrays_begin_, static_cast<std::uint32_t>(arrays_end_ - arrays_begin_), list, first_array_};
  }
  return last_list_ = list;
}

}  // namespace sonde
