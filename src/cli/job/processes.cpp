// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/job/processes.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "cli/job/job.h"
#include "cli/run/run.h"
#include "cli/setup/torch_adapters.h"
#include "mpi/sonde_mpi.h"

namespace sonde::cli {
namespace {

int number_of(const char* text) {
  return text == nullptr ? 0 : std::atoi(text);
}

const char* of_environment(const char* name) {
  return std::getenv(name);
}

// What was built here, what is beside the libraries, and what was named.
Result<std::string> find_library() {
  if (const char* const named = std::getenv("SONDE_MPI_LIBRARY")) return std::string(named);
  std::error_code ignored;
  SONDE_TRY(const std::string built, mpi_library_path());
  if (std::filesystem::exists(built, ignored)) return built;
  SONDE_TRY(const std::string folder, library_folder());
  const std::string beside = folder + "/libsonde_mpi.so";
  if (std::filesystem::exists(beside, ignored)) return beside;
  return Failure(ErrorCode::NotFound,
                 "an MPI launcher started several processes, and Sonde's MPI module is missing; "
                 "run `sonde mpi build` once, or start one process");
}

}  // namespace

struct JobProcesses::Library {
  decltype(&sonde_mpi_start) start = nullptr;
  decltype(&sonde_mpi_send) send = nullptr;
  decltype(&sonde_mpi_receive) receive = nullptr;
  decltype(&sonde_mpi_finish) finish = nullptr;
  decltype(&sonde_mpi_abort) abort = nullptr;
  double timeout_s = 30;
};

int processes_of_launcher(const char* (*variable)(const char*)) {
  if (const int count = number_of(variable("OMPI_COMM_WORLD_SIZE")); count > 0) return count;
  if (const int count = number_of(variable("PMI_SIZE")); count > 0) return count;
  if (variable("PMIX_RANK") != nullptr)
    if (const int count = number_of(variable("SLURM_NTASKS")); count > 0) return count;
  return 1;
}

Result<std::string> mpi_library_path() {
  SONDE_TRY(const std::string cache, adapter_cache());
  return cache + format_text("/libsonde_mpi.{}.so", SONDE_MPI_VERSION);
}

Result<std::optional<JobProcesses>> JobProcesses::open() {
  if (processes_of_launcher(of_environment) < 2) return std::optional<JobProcesses>();
  SONDE_TRY(const std::string path, find_library());
  // MPI itself opens parts that look for its symbols among the global ones. Never closed: MPI's
  // threads may still run.
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr)
    return Failure(ErrorCode::Unsupported,
                   format_text("{}: cannot be loaded: {}; `sonde mpi build` makes one for this MPI",
                               path, ::dlerror()));
  JobProcesses all;
  all.library_ = std::make_unique<Library>();
  Library& library = *all.library_;
  const auto find = [handle](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    return function != nullptr;
  };
  decltype(&sonde_mpi_version) version = nullptr;
  const bool is_whole =
      find(version, "sonde_mpi_version") && find(library.start, "sonde_mpi_start") &&
      find(library.send, "sonde_mpi_send") && find(library.receive, "sonde_mpi_receive") &&
      find(library.finish, "sonde_mpi_finish") && find(library.abort, "sonde_mpi_abort");
  if (!is_whole || version() != SONDE_MPI_VERSION)
    return Failure(ErrorCode::Unsupported, path +
                                               ": is of another version of Sonde; delete it and "
                                               "run `sonde mpi build`");
  if (library.start(&all.process_, &all.processes_) != 0) {
    all.library_.reset();
    return Failure(ErrorCode::Unsupported, "MPI could not be started");
  }
  return std::optional<JobProcesses>(std::move(all));
}

JobProcesses::JobProcesses(JobProcesses&&) noexcept = default;

JobProcesses::~JobProcesses() {
  if (library_ != nullptr) library_->finish(library_->timeout_s);
}

Result<void> JobProcesses::send(const std::vector<std::uint8_t>& bytes, double timeout_s) {
  if (library_->send(bytes.data(), bytes.size(), timeout_s) == 0) return {};
  say(format_text("process {}: process 0 does not answer after {} s", process_, timeout_s));
  abort();
}

Result<std::vector<std::vector<std::uint8_t>>> JobProcesses::receive_all(double timeout_s) {
  std::vector<std::vector<std::uint8_t>> all(static_cast<std::size_t>(processes_));
  std::set<int> missing;
  for (int i = 1; i < processes_; ++i) missing.insert(i);
  while (!missing.empty()) {
    int from = 0;
    unsigned char* bytes = nullptr;
    unsigned long size = 0;
    if (library_->receive(&from, &bytes, &size, timeout_s) != 0) break;
    if (missing.erase(from) > 0) all[static_cast<std::size_t>(from)].assign(bytes, bytes + size);
    std::free(bytes);
  }
  if (missing.empty()) return all;
  std::string list;
  for (const int process : missing) list += (list.empty() ? "" : ", ") + std::to_string(process);
  say(
      format_text("no progress for {} s; processes that did not answer: {}. What is in --summaries "
                  "is kept: start again",
                  timeout_s, list));
  abort();
}

void JobProcesses::abort() {
  library_->abort(1);
  std::_Exit(1);
}

}  // namespace sonde::cli
