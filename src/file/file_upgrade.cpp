// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "file/file_upgrade.h"

#include <array>

namespace sonde {

namespace {

// Version 2 packs the payloads of events, and its pieces say so: those of version 1 remain valid.
Result<std::vector<std::uint8_t>> unchanged(BlockKind /*kind*/, std::vector<std::uint8_t> payload) {
  return payload;
}

constexpr std::array<UpgradeStep, 1> kSteps = {unchanged};
static_assert(kSteps.size() + 1 == kFormatVersion, "each older version needs its step");

}  // namespace

std::span<const UpgradeStep> upgrade_steps() {
  return kSteps;
}

Result<std::span<const std::uint8_t>> upgraded_payload(const BlockFile& file,
                                                       const BlockFile::Block& block,
                                                       std::vector<std::uint8_t>& scratch,
                                                       std::span<const UpgradeStep> steps) {
  SONDE_TRY(const std::span<const std::uint8_t> payload, file.payload(block, scratch));
  if (file.version() > steps.size()) return payload;
  std::vector<std::uint8_t> bytes(payload.begin(), payload.end());
  for (std::size_t version = file.version(); version <= steps.size(); ++version) {
    SONDE_TRY(bytes, steps[version - 1](block.kind, std::move(bytes)));
  }
  scratch = std::move(bytes);
  return std::span<const std::uint8_t>(scratch);
}

}  // namespace sonde
