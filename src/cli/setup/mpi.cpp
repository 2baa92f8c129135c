// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde mpi build`: compiles Sonde's MPI module with the cluster's own compiler for it.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/job/processes.h"
#include "cli/print/progress.h"
#include "cli/run/child_output.h"
#include "cli/run/run.h"

namespace sonde::cli {
namespace {

namespace fs = std::filesystem;

// Installed, and in a build folder.
Result<std::string> mpi_source(const std::string& library_folder) {
  for (const char* const below : {SONDE_MPI_FROM_LIBRARIES, "../share/sonde/mpi"}) {
    const fs::path path = (fs::path(library_folder) / below / "sonde_mpi.cpp").lexically_normal();
    std::error_code ignored;
    if (fs::exists(path, ignored)) return path.string();
  }
  return Failure(ErrorCode::NotFound, "the source of Sonde's MPI module is missing next to " +
                                          library_folder + "; reinstall Sonde completely");
}

}  // namespace

Result<void> run_mpi_build(const MpiBuildCommand& command, Output& out) {
  SONDE_TRY(const std::string folder, library_folder());
  SONDE_TRY(const std::string source, mpi_source(folder));
  SONDE_TRY(const std::string path, mpi_library_path());
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return Failure(ErrorCode::Io, path + ": cannot be made: " + error.message());
  std::string compiler = command.compiler;
  if (compiler.empty()) {
    const char* const named = std::getenv("MPICXX");
    compiler = named != nullptr ? named : "mpicxx";
  }
  Result<void> built = write_replacing(path, [&](const std::string& temporary) -> Result<void> {
    const Progress progress("compiling Sonde's MPI module");
    const std::vector<std::string> words = {
        compiler, "-std=c++17", "-O2",
        "-fPIC",  "-shared",    "-I" + fs::path(source).parent_path().parent_path().string(),
        "-o",     temporary,    source};
    Result<ChildOutput> said = child_output(words, ChildErrors::Kept);
    if (!said)
      return Failure(ErrorCode::NotFound,
                     compiler +
                         ": cannot be started; load your cluster's MPI, or name its compiler "
                         "with --mpicxx (Debian: libopenmpi-dev)");
    if (said->status == 0) return {};
    return Failure(ErrorCode::Unsupported,
                   "the compiler failed:\n  " + command_text(words) + "\n" + said->text);
  });
  if (!built) return built;
  out.line("built " + path);
  out.line("`mpirun sonde job` and `srun --mpi=pmix sonde job` will use it");
  return {};
}

}  // namespace sonde::cli
