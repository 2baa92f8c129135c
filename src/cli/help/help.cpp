// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <filesystem>
#include <string>

#include "base/output_file.h"
#include "cli/help/pages.h"

namespace sonde::cli {

Result<void> write_help_files(const DescribedCommand& program, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder + "/man1", failed);
  if (failed) return Failure(ErrorCode::Io, folder + "/man1: " + failed.message());
  for (const DescribedCommand* command : with_all_below(program))
    SONDE_TRY_VOID(write_file_whole(folder + "/man1/" + page_name(*command) + ".1",
                                    manual_page(*command, program)));
  SONDE_TRY_VOID(write_file_whole(folder + "/sonde.bash", bash_completion(program)));
  SONDE_TRY_VOID(write_file_whole(folder + "/_sonde", zsh_completion(program)));
  SONDE_TRY_VOID(write_file_whole(folder + "/sonde.fish", fish_completion(program)));
  return write_file_whole(folder + "/commands.md", markdown_page(program));
}

}  // namespace sonde::cli
