// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The sources of the adapter for libtorch (src/collect/torch/) and the headers they need. They are
// installed with Sonde, so that an adapter can be compiled for any torch.

#include <string>
#include <vector>

#include "sonde/result.h"

namespace sonde::cli {

struct AdapterSources {
  std::vector<std::string> files;     // to compile
  std::vector<std::string> includes;  // folders
  std::string key;                    // changes with the sources (agent/adapter_name.h)
};

// The sources of the Sonde whose libraries are in `library_folder`, installed or just built.
Result<AdapterSources> adapter_sources(const std::string& library_folder);

}  // namespace sonde::cli
