// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/options/parser.h"

#include <string>

#include "cli/commands.h"
#include "cli/options/common.h"

namespace sonde::cli {
namespace {

void add_torch(Parser& parser) {
  auto& torch_build = parser.keep<TorchBuildCommand>();
  CLI::App* group = parser.app.add_subcommand(
      "torch", "Build the adapter with which `sonde run` records a version of torch");
  group->require_subcommand(1);
  CLI::App* command = group->add_subcommand(
      "build",
      "Compile the adapter for a torch other than the one Sonde was built with; needed once");
  CLI::Option* python =
      command->add_option("--python", torch_build.python,
                          "Use the torch that this interpreter imports (default python3)");
  python->type_name("PROGRAM");
  command
      ->add_option("--prefix", torch_build.prefix,
                   "Use the torch in this folder, which has lib/ and include/")
      ->type_name("FOLDER")
      ->excludes(python);
  command->footer(
      "Without options, uses the torch of python3, or else the system's. Compiles with CXX or "
      "c++, which takes about half a minute.\nStores the adapter below XDG_CACHE_HOME "
      "(~/.cache), where `sonde run` finds it.\nExample:\n  sonde torch build --python "
      "./venv/bin/python3");
  group->footer(command->get_footer());
  command->callback([&parser, &torch_build] {
    parser.action = [&torch_build](Output& out) { return run_torch_build(torch_build, out); };
  });
}

void add_doctor(Parser& parser) {
  auto& doctor = parser.keep<DoctorCommand>();
  CLI::App* command = parser.app.add_subcommand(
      "doctor", "Check what is installed on this machine, and what is missing");
  add_text_or_json(command, doctor.format);
  command->footer("Example:\n  sonde doctor");
  command->callback([&parser, &doctor] {
    parser.action = [&doctor](Output& out) { return run_doctor(doctor, out); };
  });
}

}  // namespace

void add_setup(Parser& parser) {
  add_torch(parser);
  add_doctor(parser);
}

}  // namespace sonde::cli
