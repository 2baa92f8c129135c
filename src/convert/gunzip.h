// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Decompresses as much of a gzip file as can be read.
//
//   SONDE_TRY(Gunzipped out, gunzip(file.bytes()));
//   if (!out.problem.empty()) …   // "the file ends inside its compressed data": text has the rest

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "convert/json/json_bytes.h"
#include "sonde/result.h"

namespace sonde {

struct Gunzipped {
  PaddedBytes text;
  std::string problem;           // empty if there was none
  bool truncated = false;        // true: the file ends too soon; false: it is damaged
  std::uint64_t lost_bytes = 0;  // compressed bytes that were not read
};

// Is notified of text as it arrives.
class InflateListener {
 public:
  virtual ~InflateListener() = default;
  // The text will be at `text`, with about `expected_bytes` bytes if the file is right.
  virtual void begins(const char* text, std::size_t expected_bytes) = 0;
  // That many bytes have arrived; zeros follow.
  virtual void grows(std::size_t bytes) = 0;
  // The text is about to be moved, because it is longer, or given up, because gunzip() fails.
  // Nobody may read it any more.
  virtual void moves() = 0;
  // Whether it gave back some of the text that it no longer needed. That now reads as zeros, so the
  // text is of no use without what the listener made of it.
  virtual bool gave_back() const { return false; }
};

// Keeps a small file from filling the memory.
struct InflateBounds {
  std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max();
  // Gets the beginning of the text, more of it each time, until it returns true. A failure stops
  // the reading. If there is none, any text is accepted.
  std::function<Result<bool>(std::string_view begin)> judge = nullptr;
};

bool is_gzip(std::span<const std::uint8_t> bytes);

// Reads any number of members one after the other. Fails if memory runs out, the bounds are
// exceeded, or the text must be moved after the listener gave some of it back. The message names no
// file.
Result<Gunzipped> gunzip(std::span<const std::uint8_t> bytes, InflateListener* listener = nullptr,
                         const InflateBounds& bounds = {});

}  // namespace sonde
