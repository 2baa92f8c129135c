// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Which of a job's processes this one is. It names the files of a run ("{rank}" in an output
// pattern) and is stored in the trace as PyTorch's `distributedInfo`.
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
  int local_rank = -1;         // among the processes of this host; -1: not known
  std::string backend = "";    // "nccl", "gloo", "mpi"; empty: not known
  int pg_count = 0;            // process groups; 0: not known
  std::string pg_config = "";  // PyTorch's JSON list of groups; empty: not known
};

// From the environment: RANK, WORLD_SIZE, LOCAL_RANK (torchrun), else OMPI_COMM_WORLD_RANK, _SIZE,
// _LOCAL_RANK (Open MPI), else SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID. A launcher counts if rank
// and size are set and valid together.
std::optional<DistributedInfo> detect_distributed_info();

// Overrides the environment, for files and cycles that begin afterwards.
void set_distributed_info(DistributedInfo info);

// What was set, else what is detected.
std::optional<DistributedInfo> distributed_info();

}  // namespace sonde
