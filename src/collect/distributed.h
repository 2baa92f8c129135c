// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The internal part of distributed.h: detection from any environment, and the JSON.

#include <functional>
#include <optional>
#include <string>

#include "sonde/profile/distributed.h"

namespace sonde {

// Like getenv: null where there is no such variable.
using Environment = std::function<const char*(const char* name)>;

std::optional<DistributedInfo> detect_distributed_info(const Environment& environment);

// The job that a launcher or a queue started this process for, as JSON: {"launcher": "slurm", "id":
// "4711"}; empty if none did.
std::string launcher_job_json(const Environment& environment);

// Forgets what set_distributed_info was given.
void reset_distributed_info();

// The value of the metadata key `distributedInfo`. `backend` is always present, because readers of
// PyTorch's traces expect it. Other unknown fields are left out, and so is a `pg_config` that is
// not JSON.
std::string distributed_info_json(const DistributedInfo& info);

}  // namespace sonde
