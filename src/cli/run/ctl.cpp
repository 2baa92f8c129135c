// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde ctl`: starts or stops the recording of a program under `sonde run`, or asks for its state.

#include <filesystem>
#include <string>

#include "agent/control.h"
#include "cli/commands.h"

namespace sonde::cli {

Result<void> check(const CtlCommand& command) {
  if (!command.file.empty() && command.request != "snapshot")
    return Failure(ErrorCode::Invalid, "only `snapshot` takes a file");
  if (command.file.find('\n') != std::string::npos)
    return Failure(ErrorCode::Invalid, "a file name cannot contain line breaks");
  return {};
}

Result<void> run_ctl(const CtlCommand& command, Output& out) {
  std::string request = command.request;
  // The program may run in another folder.
  if (!command.file.empty()) request += " " + std::filesystem::absolute(command.file).string();
  SONDE_TRY(const std::string answer, ask_agent(command.pid, request));
  out.line(answer);
  return {};
}

}  // namespace sonde::cli
