// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The package `sonde` for Python, which is installed with the libraries.

#include <string>

#include "cli/run/child.h"
#include "sonde/result.h"

namespace sonde::cli {

// The folder that holds the package, for PYTHONPATH.
Result<std::string> python_package_folder(const std::string& library_folder);

// Makes `import sonde` work in that interpreter, with a file that contains the folder. Returns what
// was done, as a sentence.
Result<std::string> give_package_to(const std::string& python, const std::string& package_folder);

// Makes every Python in that program use Sonde's profilers instead of torch's.
void add_stand_in(ChildCommand& child, const std::string& package_folder);

}  // namespace sonde::cli
