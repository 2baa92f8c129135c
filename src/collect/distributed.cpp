// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/distributed.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/json.h"

namespace sonde {
namespace {

struct Launcher {
  const char* rank;
  const char* world_size;
  const char* local_rank;
};

constexpr Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
};

// The queue before what it starts.
constexpr std::pair<const char*, const char*> kJobIds[] = {{"slurm", "SLURM_JOB_ID"},
                                                           {"pbs", "PBS_JOBID"},
                                                           {"lsf", "LSB_JOBID"},
                                                           {"torchrun", "TORCHELASTIC_RUN_ID"},
                                                           {"pmix", "PMIX_NAMESPACE"}};

struct Known {
  std::mutex mutex;
  std::optional<DistributedInfo> info;
};

Known& known() {
  static Known instance;
  return instance;
}

std::optional<int> natural_number(const char* text) {
  if (text == nullptr) return std::nullopt;
  const char* const end = text + std::strlen(text);
  int value = 0;
  const auto [stopped, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || stopped != end || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<DistributedInfo> detect_distributed_info(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    const std::optional<int> rank = natural_number(environment(launcher.rank));
    const std::optional<int> world_size = natural_number(environment(launcher.world_size));
    if (!rank || !world_size || *rank >= *world_size) continue;
    DistributedInfo info;
    info.rank = *rank;
    info.world_size = *world_size;
    info.local_rank = natural_number(environment(launcher.local_rank)).value_or(-1);
    return info;
  }
  return std::nullopt;
}

std::optional<DistributedInfo> detect_distributed_info() {
  return detect_distributed_info([](const char* name) -> const char* { return std::getenv(name); });
}

std::string launcher_job_json(const Environment& environment) {
  for (const auto& [launcher, variable] : kJobIds) {
    const char* const id = environment(variable);
    // torchrun's name for a job without one.
    if (id == nullptr || *id == '\0' || std::strcmp(id, "none") == 0) continue;
    return "{\"launcher\": " + json_string(launcher) + ", \"id\": " + json_string(id) + "}";
  }
  return "";
}

void set_distributed_info(DistributedInfo info) {
  Known& shared = known();
  const std::lock_guard lock(shared.mutex);
  shared.info = std::move(info);
}

void reset_distributed_info() {
  Known& shared = known();
  const std::lock_guard lock(shared.mutex);
  shared.info.reset();
}

std::optional<DistributedInfo> distributed_info() {
  {
    Known& shared = known();
    const std::lock_guard lock(shared.mutex);
    if (shared.info) return shared.info;
  }
  return detect_distributed_info();
}

std::string distributed_info_json(const DistributedInfo& info) {
  std::string json = "{\"backend\": " + json_string(info.backend) +
                     ", \"rank\": " + std::to_string(info.rank) +
                     ", \"world_size\": " + std::to_string(info.world_size);
  if (info.local_rank >= 0) json += ", \"local_rank\": " + std::to_string(info.local_rank);
  if (info.pg_count > 0) json += ", \"pg_count\": " + std::to_string(info.pg_count);
  if (validate_json(info.pg_config)) json += ", \"pg_config\": " + info.pg_config;
  return json + "}";
}

}  // namespace sonde
