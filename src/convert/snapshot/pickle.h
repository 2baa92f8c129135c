// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads the data in Python pickles: numbers, texts, lists, tuples and dictionaries. A pickle is a
// program for a small machine. Anything that would import, call or build something is refused and
// never run.
//
//   SONDE_TRY(const Pickle pickle, Pickle::read(bytes, "snapshot.pickle"));
//   for (const PickleRef segment : pickle.root()["segments"]) … segment["address"].integer()
//
// Reading takes time and memory in proportion to the bytes. Values may be shared and may even
// contain themselves, so code that walks through them must not recurse without a limit.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/result.h"

namespace sonde {

class Pickle;

// A value, or none if it was not found.
class PickleRef {
 public:
  PickleRef() = default;

  bool valid() const noexcept { return pickle_ != nullptr; }
  bool is_list() const noexcept;  // or a tuple
  bool is_dictionary() const noexcept;
  // 0 or "" if the value has another type.
  std::int64_t integer() const noexcept;
  std::string_view text() const noexcept;
  bool is_integer() const noexcept;
  // The same for one value that appears in several places.
  std::uint32_t identity() const noexcept { return value_; }

  // The length of a list; 0 for anything else.
  std::size_t size() const noexcept;
  PickleRef operator[](std::size_t i) const noexcept;
  // Looks up a key of a dictionary. The last of equal keys counts; only the last 256 keys are
  // searched.
  PickleRef operator[](std::string_view key) const noexcept;

  class Iterator {
   public:
    Iterator(const PickleRef* list, std::size_t at) : list_(list), at_(at) {}
    PickleRef operator*() const noexcept { return (*list_)[at_]; }
    Iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    friend bool operator!=(Iterator a, Iterator b) noexcept { return a.at_ != b.at_; }

   private:
    const PickleRef* list_;
    std::size_t at_;
  };
  Iterator begin() const noexcept { return {this, 0}; }
  Iterator end() const noexcept { return {this, size()}; }

 private:
  friend class Pickle;
  PickleRef(const Pickle* pickle, std::uint32_t value) : pickle_(pickle), value_(value) {}

  const Pickle* pickle_ = nullptr;
  std::uint32_t value_ = 0;
};

bool is_pickle(std::span<const std::uint8_t> bytes);

class Pickle {
 public:
  // The pickle keeps views of `bytes`. Errors name `path`. Fails if the values take more than
  // `most_memory` bytes.
  static Result<Pickle> read(std::span<const std::uint8_t> bytes, const std::string& path,
                             std::uint64_t most_memory = std::numeric_limits<std::uint64_t>::max());

  PickleRef root() const noexcept { return {this, root_}; }

 private:
  friend class PickleRef;
  friend class PickleMachine;
  enum class Kind : std::uint8_t { None, Integer, Number, Text, List, Dictionary };
  struct Value {
    Kind kind = Kind::None;
    std::int64_t integer = 0;  // or where its items are
    const char* text = nullptr;
    std::size_t size = 0;
  };

  std::vector<Value> values_;
  std::vector<std::vector<std::uint32_t>> items_;  // lists: items; dictionaries: key, value, key, …
  std::uint32_t root_ = 0;
};

}  // namespace sonde
