// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/open.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/file_stamp.h"
#include "cli/answer/trace_facts.h"
#include "cli/commands.h"
#include "cli/print/progress.h"
#include "convert/open_file.h"

namespace sonde::cli {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// Copies everything from one descriptor to another.
Result<void> copy_all(int from, int to) {
  std::vector<char> piece(kPieceBytes);
  for (;;) {
    const ssize_t size = ::read(from, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return io_failure("standard input", "read", errno);
    if (size == 0) return {};
    for (ssize_t done = 0; done < size;) {
      const ssize_t written =
          ::write(to, piece.data() + done, static_cast<std::size_t>(size - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return io_failure("standard input", "keep", errno);
      done += written;
    }
  }
}

}  // namespace

Result<std::string> on_disk(const std::string& path) {
  if (path != "-") return path;
  if (::isatty(STDIN_FILENO) != 0)
    return Failure(ErrorCode::Invalid, "-: standard input is a terminal; pipe a trace into it");
  // Open until the program ends. Formats that are read in pieces need a file.
  const int fd = ::memfd_create("standard input", MFD_CLOEXEC);
  if (fd < 0) return io_failure("standard input", "keep", errno);
  SONDE_TRY_VOID(copy_all(STDIN_FILENO, fd));
  return "/proc/self/fd/" + std::to_string(fd);
}

Result<Trace> open_with_progress(const std::string& given, const OpenOptions& options) {
  const Progress progress("opening " + given);
  SONDE_TRY(const std::string path, on_disk(given));
  const FileStamp before(path);
  Result<OpenedFile> opened = open_file(path, options);
  if (!opened) return Failure(told_as(std::move(opened).error(), path, given));
  OpenedFile file = *std::move(opened);
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
