// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Texts of a file that are not quite JSON and are mended when they are read: bytes that are not
// UTF-8, control characters, unknown escapes, words such as NaN. Old profilers wrote all of these.
//
//   const MendedTexts mended = mended_texts(parts, threads);
//   if (mended.count > 0) note(mended.count, mended.first - begin_of_file);

#include <cstdint>

#include "convert/kineto/read/assemble.h"

namespace sonde {

struct MendedTexts {
  std::uint64_t count = 0;      // each text counts once, however often it occurs
  const char* first = nullptr;  // where the first one is not valid JSON
};

MendedTexts mended_texts(const KinetoParts& parts, unsigned threads);

}  // namespace sonde
