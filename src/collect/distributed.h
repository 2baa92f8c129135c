// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What of distributed.h others inside need: detection from any environment, and the JSON.

#include <functional>
#include <optional>
#include <string>

#include "sonde/profile/distributed.h"

namespace sonde {

// Like getenv: null where there is no such variable.
using Environment = std::function<const char*(const char* name)>;

std::optional<DistributedInfo> detect_distributed_info(const Environment& environment);

// Forgets what set_distributed_info was given.
void reset_distributed_info();

// The value of the metadata key `distributedInfo`. `backend` is always there, as readers of
// PyTorch's traces expect it; what else is not known is left out, a `pg_config` that is not JSON
// too.
std::string distributed_info_json(const DistributedInfo& info);

}  // namespace sonde
