// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Summaries of ranks of any content, and the analysis of a job made of what is left of them. Each
// input is read as it is, and once more with its checksum put right.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "sonde/analyse/job.h"

namespace {

using namespace sonde;

constexpr std::size_t kChecksumAt = 12;
constexpr std::size_t kHeader = 20;

void read(std::span<const std::uint8_t> bytes) {
  Result<RankSummary> one = decode_rank_summary(bytes, "fuzz");
  if (!one) return;
  if (encode(*one).empty()) __builtin_trap();
  std::vector<RankSummary> ranks(3, *one);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].rank = static_cast<std::int32_t>(i);
    ranks[i].source = "rank" + std::to_string(i);
  }
  (void)analyse_job(std::move(ranks));
}

std::vector<std::uint8_t> repaired(std::span<const std::uint8_t> input) {
  std::vector<std::uint8_t> bytes(input.begin(), input.end());
  if (bytes.size() < kHeader) return bytes;
  static const std::vector<std::uint8_t> kEmpty = encode(RankSummary());  // has the version
  std::memcpy(bytes.data(), kEmpty.data(), kChecksumAt);
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t i = kHeader; i < bytes.size(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  std::memcpy(bytes.data() + kChecksumAt, &hash, sizeof(hash));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read({data, size});
  read(repaired({data, size}));
  return 0;
}
