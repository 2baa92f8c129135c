// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Which process of a job this is. It is used in names of files ("{rank}" in an output pattern) and
// stored in the trace as PyTorch's `distributedInfo`.
//
//   sonde::set_distributed_info({.rank = 3, .world_size = 8, .backend = "nccl"});
//
// Under torchrun, Open MPI or Slurm you need not call anything: Sonde reads their variables. Every
// function here may be called from any thread.

#include <optional>
#include <string>

namespace sonde {

struct DistributedInfo {
  int rank = 0;
  int world_size = 1;
  int local_rank = -1;         // among the processes of this host; -1: unknown
  std::string backend = "";    // "nccl", "gloo", "mpi"; empty: unknown
  int pg_count = 0;            // process groups; 0: unknown
  std::string pg_config = "";  // PyTorch's JSON list of groups; empty: unknown
};

// Reads the environment: RANK, WORLD_SIZE, LOCAL_RANK (torchrun), else OMPI_COMM_WORLD_RANK, _SIZE,
// _LOCAL_RANK (Open MPI), else SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID. A launcher counts if its
// rank and size are both set and consistent.
std::optional<DistributedInfo> detect_distributed_info();

// Overrides the environment, for files and cycles that begin afterwards.
void set_distributed_info(DistributedInfo info);

// What was set, else what is detected.
std::optional<DistributedInfo> distributed_info();

}  // namespace sonde
