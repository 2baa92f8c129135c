// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Command lines may hold passwords, tokens and keys, which do not belong in a trace that is shared.
// They are recognised by the name before them (`--password X`, `api_key=X`), by their form
// (`ghp_…`, `AKIA…`, long random text), or by their place in an address (`https://user:X@host`).

#include <string>
#include <vector>

namespace sonde {

// The words of a command line, with "***" instead of what looks like a secret.
std::vector<std::string> without_secrets(const std::vector<std::string>& words);

}  // namespace sonde
