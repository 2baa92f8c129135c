// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/target.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "agent/elf_file.h"

namespace sonde::cli {
namespace {

constexpr int kDeepestScript = 4;

// 0 if it can be started, else the reason.
int executable_errno(const std::string& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) return errno;
  if (S_ISDIR(facts.st_mode)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

Target locate(const std::string& program) {
  if (program.find('/') != std::string::npos)
    return {.path = program, .errno_value = executable_errno(program)};
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  Target found = {.path = program, .errno_value = ENOENT};
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + program;
    const int reason = executable_errno(candidate);
    if (reason == 0) return {.path = candidate};
    if (reason == EACCES) found = {.path = candidate, .errno_value = EACCES};
  }
  return found;
}

// "#!/usr/bin/env python3" gives "python3"; empty if it is not a script.
std::string interpreter_of(const std::string& script) {
  std::ifstream file(script, std::ios::binary);
  char mark[2] = {};
  std::string line;
  if (!file.read(mark, 2) || mark[0] != '#' || mark[1] != '!' || !std::getline(file, line))
    return {};
  std::istringstream words(line);
  std::string interpreter;
  words >> interpreter;
  if (interpreter.size() < 4 || interpreter.compare(interpreter.size() - 4, 4, "/env") != 0)
    return interpreter;
  for (std::string word; words >> word;) {
    if (word.front() != '-' && word.find('=') == std::string::npos) return word;
  }
  return interpreter;
}

bool is_privileged(const std::string& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) return false;
  if ((facts.st_mode & S_ISUID) != 0 && facts.st_uid != ::geteuid()) return true;
  if ((facts.st_mode & S_ISGID) != 0 && facts.st_gid != ::getegid()) return true;
  return ::geteuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

TargetKind kind_of(const std::string& binary) {
  const auto facts = read_elf(binary);
  if (!facts) return TargetKind::Ordinary;  // a script without a first line, run by the shell
  if (!facts->is_64_bit || facts->machine != own_machine()) return TargetKind::OtherMachine;
  if (facts->interpreter.empty()) return TargetKind::Static;
  if (facts->interpreter.find("/ld-linux") == std::string::npos) return TargetKind::OtherLibrary;
  return is_privileged(binary) ? TargetKind::Privileged : TargetKind::Ordinary;
}

}  // namespace

Target find_target(const std::string& program) {
  Target target = locate(program);
  if (target.errno_value != 0) return target;
  target.binary = target.path;
  for (int depth = 0; depth < kDeepestScript; ++depth) {
    const std::string interpreter = interpreter_of(target.binary);
    if (interpreter.empty()) break;
    const Target next = locate(interpreter);
    if (next.errno_value != 0) break;
    target.binary = next.path;
  }
  target.kind = kind_of(target.binary);
  return target;
}

std::string why_not(const Target& target) {
  switch (target.kind) {
    case TargetKind::Ordinary:
      return {};
    case TargetKind::Static:
      return target.binary + " is linked statically, so no library can be loaded into it";
    case TargetKind::Privileged:
      return target.binary +
             " runs with elevated privileges, so the loader does not preload libraries into it";
    case TargetKind::OtherMachine:
      return target.binary + " was built for a different machine than this sonde";
    case TargetKind::OtherLibrary:
      return target.binary + " does not use the GNU C library, which this sonde needs";
  }
  return {};
}

}  // namespace sonde::cli
