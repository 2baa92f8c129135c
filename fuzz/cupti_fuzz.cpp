// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decodes buffers of CUPTI's records with any content, directly and as a file that Sonde kept.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "collect/cuda/activity.h"
#include "collect/cuda/kept_buffers.h"
#include "collect/cuda/work_recorder.h"

namespace {

using namespace sonde::cuda;

void decode(std::uint32_t version, std::span<const std::uint8_t> bytes) {
  const ActivityDecoder decoder(version);
  std::size_t visited = 0;
  const auto counts = decoder.decode(bytes, [&](const Activity& activity) {
    ++visited;
    (void)copy_name(activity.copy);
  });
  if (visited + counts.unknown + counts.without_times != counts.records) std::abort();
  if (counts.bytes_left > bytes.size()) std::abort();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const std::uint32_t version : {kCupti118, kCupti126, kCupti130})
    decode(version, {data, size});
  if (const auto file = read_kept_buffers({data, size})) {
    for (const KeptBuffer& buffer : file->buffers) decode(file->version, buffer.bytes);
  }
  return 0;
}
