// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/output_name.h"

#include <unistd.h>

#include <cerrno>

#include "base/format.h"
#include "sonde/profile/distributed.h"

namespace sonde {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

std::string program_name() {
  return program_invocation_short_name;
}

namespace {

// Ranks of a run never share a file.
std::string tell_ranks_apart(std::string pattern) {
  const auto info = distributed_info();
  if (pattern.empty() || !info || info->world_size <= 1) return pattern;
  if (pattern.find("{rank}") != std::string::npos || pattern.find("{pid}") != std::string::npos)
    return pattern;
  const std::size_t name = pattern.rfind('/') + 1;  // npos + 1 is 0
  const std::size_t dot = pattern.rfind('.');
  pattern.insert(dot != std::string::npos && dot > name ? dot : pattern.size(), ".rank{rank}");
  return pattern;
}

}  // namespace

Result<std::string> fill_output_name(const std::string& given) {
  const std::string pattern = tell_ranks_apart(given);
  std::string filled;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t open = pattern.find('{', at);
    filled += pattern.substr(at, open - at);
    if (open == std::string::npos) break;
    const std::size_t close = pattern.find('}', open);
    const std::string word =
        close == std::string::npos ? pattern.substr(open) : pattern.substr(open, close - open + 1);
    if (word == "{pid}") {
      filled += std::to_string(::getpid());
    } else if (word == "{rank}") {
      const auto info = distributed_info();
      filled += info ? std::to_string(info->rank) : "none";
    } else if (word == "{host}") {
      filled += host_name();
    } else if (word == "{program}") {
      filled += program_name();
    } else {
      return Failure(
          ErrorCode::Invalid,
          format_text("output \"{}\": unknown {}; use {{pid}}, {{rank}}, {{host}} or {{program}}",
                      pattern, word));
    }
    at = close + 1;
  }
  return filled;
}

}  // namespace sonde
