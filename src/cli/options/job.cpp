// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/options/parser.h"

#include <string>

#include "cli/job/job.h"
#include "cli/options/common.h"

namespace sonde::cli {
namespace {

void add_ranks(Parser& parser) {
  auto& job = parser.keep<JobCommand>();
  CLI::App* command = parser.app.add_subcommand(
      "job", "Put all ranks of a job on one clock and say which held the others up, and why");
  command
      ->add_option("FILES", job.inputs,
                   "The ranks' traces: a folder, files, or patterns such as 'run/rank*.json.gz'")
      ->required()
      ->type_name("");
  add_size_limit(command, job.open, kSizeLimitOfFiles);
  command
      ->add_option(
          "-o,--output", job.output,
          "Write the answer here. The suffix chooses the format: .html, .md, .json or .txt")
      ->type_name("FILE");
  add_page_format(command, job.format);
  command->add_flag("--partial", job.is_partial,
                    "Answer from the files that can be read, and say which cannot");
  command
      ->add_option("--hosts", job.hosts,
                   "The host of each rank, in order; ranks of one host share a clock")
      ->delimiter(',')
      ->type_name("LIST");
  command
      ->add_option("--summaries", job.summaries,
                   "Keep a summary of each file in this folder, and reuse those already there")
      ->type_name("FOLDER");
  command
      ->add_option(
          "--share", job.share,
          "Only make the summaries of share I of N (I from 0 to N-1), as one of N processes")
      ->type_name("I/N");
  command
      ->add_option("--timeout", job.timeout_s,
                   "Under MPI: give up after S seconds without progress (default 300)")
      ->type_name("S");
  command->footer(
      "Ranks may be missing, their clocks may differ, and recordings may begin at different "
      "times.\nExample:\n  sonde job run/\n  sonde job 'run/rank*.json.gz' --format json");
  command->callback([&parser, &job] {
    require(check(job));
    parser.action = [&job](Output& out) { return run_job(job, out); };
  });
}

void add_mpi(Parser& parser) {
  auto& mpi_build = parser.keep<MpiBuildCommand>();
  CLI::App* group = parser.app.add_subcommand(
      "mpi", "Build the MPI module, so that many processes can share the work of `sonde job`");
  group->require_subcommand(1);
  CLI::App* command =
      group->add_subcommand("build", "Compile it for the MPI of this machine; needed once");
  command
      ->add_option("--mpicxx", mpi_build.compiler,
                   "The compiler of that MPI (default: MPICXX, or else mpicxx)")
      ->type_name("PROGRAM");
  command->footer(
      "Stores it below XDG_CACHE_HOME (~/.cache), where `mpirun sonde job` finds it.\nExample:\n  "
      "sonde mpi build\n  mpirun -n 16 sonde job run/");
  group->footer(command->get_footer());
  command->callback([&parser, &mpi_build] {
    parser.action = [&mpi_build](Output& out) { return run_mpi_build(mpi_build, out); };
  });
}

}  // namespace

void add_job(Parser& parser) {
  add_ranks(parser);
  add_mpi(parser);
}

}  // namespace sonde::cli
