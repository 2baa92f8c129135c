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

// What every Python in a program is asked for; see python/sonde/_run.py.
struct PythonWishes {
  bool stand_in = false;  // Sonde's profilers in place of torch's
  bool calls = false;
  bool modules = false;
  bool tensors = false;  // what they are for
  bool stacks = false;   // with the modules and ranges
  bool shapes = false;

  bool any() const { return stand_in || calls || modules; }
};
void add_wishes(ChildCommand& child, const PythonWishes& wishes, const std::string& package_folder);

}  // namespace sonde::cli
