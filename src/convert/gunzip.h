// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Decompresses as much of a gzip file as can be read.
//
//   SONDE_TRY(Gunzipped out, gunzip(file.bytes()));
//   if (!out.problem.empty()) …   // "the file ends inside its compressed data": text has what came

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
  std::string problem;           // empty if all was well
  bool truncated = false;        // the bytes ended too soon; else they are damaged
  std::uint64_t lost_bytes = 0;  // compressed bytes that were not read
};

// Is notified of text as it arrives.
class InflateListener {
 public:
  virtual ~InflateListener() = default;
  // It will be there, with about that many bytes if the file is right.
  virtual void begins(const char* text, std::size_t expected_bytes) = 0;
  // That many bytes have arrived; zeros follow.
  virtual void grows(std::size_t bytes) = 0;
  // It is longer, and about to be moved: nobody may read it until gunzip() returns.
  virtual void moves() = 0;
};

// What keeps a small file from filling the memory.
struct InflateBounds {
  std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max();
  // Is shown the beginning of the text, more of it each time until it returns true; a failure ends
  // the reading. None: everything will do.
  std::function<Result<bool>(std::string_view begin)> judge = nullptr;
};

bool is_gzip(std::span<const std::uint8_t> bytes);

// Takes any number of members one after the other. Fails for lack of memory, and if the bounds are
// exceeded; the message names no file.
Result<Gunzipped> gunzip(std::span<const std::uint8_t> bytes, InflateListener* listener = nullptr,
                         const InflateBounds& bounds = {});

}  // namespace sonde
