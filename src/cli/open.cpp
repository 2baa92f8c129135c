// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/open.h"

#include <filesystem>
#include <utility>

#include "base/file_stamp.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/trace_facts.h"
#include "convert/open_file.h"

namespace sonde::cli {

Result<Trace> open_with_progress(const std::string& path, const OpenOptions& options) {
  const Progress progress("opening " + path);
  const FileStamp before(path);
  SONDE_TRY(OpenedFile file, open_file(path, options));
  (void)file.trace.tables();  // decoded here, where it is shown that it takes long
  if (file.is_whole() && before.was_written()) return Failure(changed_while_read(path));
  return std::move(file.trace);
}

Result<Trace> open_to_answer(const std::string& path, const OpenOptions& options) {
  SONDE_TRY(Trace trace, open_with_progress(path, options));
  const LedgerTable& ledger = trace.ledger();
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    const LedgerClass row = ledger_class(ledger.kind[i]);
    if (row != LedgerClass::Lost && row != LedgerClass::Incomplete) continue;
    say(path + " is incomplete; `sonde info` shows what is missing");
    break;
  }
  return trace;
}

Result<void> not_onto_itself(const std::string& input, const std::string& output) {
  std::error_code ignored;
  if (!std::filesystem::equivalent(input, output, ignored)) return {};
  return Failure(ErrorCode::Invalid, output + ": this is the input file; choose another name");
}

}  // namespace sonde::cli
