// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads files of older format versions. No other place knows what they looked like.
//
// When kFormatVersion rises from n to n + 1, a step is added to the list in file_upgrade.cpp. It
// turns the payload of a block as version n wrote it into what version n + 1 would have written.
// Readers see only payloads of the current version.

#include <cstdint>
#include <span>
#include <vector>

#include "file/block_file.h"
#include "sonde/result.h"

namespace sonde {

// Steps are called for every block; a kind that did not change is returned unchanged.
using UpgradeStep = Result<std::vector<std::uint8_t>> (*)(BlockKind kind,
                                                          std::vector<std::uint8_t> payload);

// The step at index i converts version i + 1 to version i + 2.
std::span<const UpgradeStep> upgrade_steps();

// BlockFile::payload(), upgraded to the current version. Valid while `file` and `scratch` live;
// thread-safe for different `scratch`. Tests pass their own steps.
Result<std::span<const std::uint8_t>> upgraded_payload(
    const BlockFile& file, const BlockFile::Block& block, std::vector<std::uint8_t>& scratch,
    std::span<const UpgradeStep> steps = upgrade_steps());

}  // namespace sonde
