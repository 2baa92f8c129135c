// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The processes that share a job's files, where a launcher such as mpirun started several. They
// talk through src/mpi/, which is opened only then.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sonde/result.h"

namespace sonde::cli {

// How many processes a launcher of MPI says there are; 1 without one. `variable` reads the
// environment.
int processes_of_launcher(const char* (*variable)(const char*));

class JobProcesses {
 public:
  // None if this process is the only one. An error if MPI is needed and cannot be used.
  static Result<std::optional<JobProcesses>> open();
  JobProcesses(JobProcesses&&) noexcept;
  ~JobProcesses();

  int process() const { return process_; }
  int processes() const { return processes_; }
  // To process 0.
  Result<void> send(const std::vector<std::uint8_t>& bytes, double timeout_s);
  // In process 0: what each other process sent. If some do not answer, all are ended and the
  // error names them.
  Result<std::vector<std::vector<std::uint8_t>>> receive_all(double timeout_s);
  // Ends all processes of the job with status 1.
  [[noreturn]] void abort();

 private:
  struct Library;
  JobProcesses() = default;
  std::unique_ptr<Library> library_;
  int process_ = 0;
  int processes_ = 1;
};

// Where `sonde mpi build` puts the library.
Result<std::string> mpi_library_path();

}  // namespace sonde::cli
