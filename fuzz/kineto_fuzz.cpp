// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading JSON traces of any content: as text, and as gzip where it begins so.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "convert/gunzip.h"
#include "convert/json_bytes.h"
#include "convert/kineto_read.h"
#include "promises.h"

namespace {

using namespace sonde;

void read(std::string_view text) {
  const Result<PaddedBytes> bytes = PaddedBytes::copy_of(text);
  if (!bytes) return;
  const Result<Trace> trace = read_kineto(bytes->text(), "fuzz", TraceBuilder(), 1);
  if (trace) sonde::testing::check_promises(*trace);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  if (is_gzip(bytes)) {
    const Result<Gunzipped> text = gunzip(bytes);
    if (text && text->text.text().size() < (1 << 24)) read(text->text.text());
  }
  read({reinterpret_cast<const char*>(data), size});
  return 0;
}
