// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads databases of other profilers with any content.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "convert/database/read_database.h"
#include "convert/json/json_bytes.h"
#include "promises.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sonde;
  // Larger ones find nothing new and take long.
  if (size > (1 << 17)) return 0;
  Result<PaddedBytes> bytes = PaddedBytes::copy_of({reinterpret_cast<const char*>(data), size});
  if (!bytes) return 0;
  const Result<Trace> trace = read_profiler_database(*std::move(bytes), "fuzz");
  if (trace) sonde::testing::check_promises(*trace);
  return 0;
}
