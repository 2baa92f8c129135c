// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A torch on this machine: where its libraries and headers are, and what can be read from them.
// Nothing is loaded or imported.
//
//   SONDE_TRY(const TorchInstall torch, torch_of_python("python3"));

#include <string>
#include <vector>

#include "sonde/result.h"

namespace sonde::cli {

struct TorchInstall {
  std::string library;         // the path of libtorch_cpu
  std::string c10_library;     // the path of libc10
  std::string include;         // the folder that has ATen/; empty without headers
  std::string version;         // "2.11.0", from the headers; empty without them
  bool cxx11_abi = true;       // the ABI of libstdc++ that c10 uses
  std::string python_version;  // "2.11.0+cu130", if a Python was asked
  std::string cuda;            // "13.0"; empty if it has none, or if no Python was asked
};

// The torch below the first of `prefixes` that has lib/libtorch_cpu.so, with the first headers
// found (include/ATen/).
Result<TorchInstall> torch_below(const std::vector<std::string>& prefixes);
// The torch that `import torch` would find. Python is asked, but does not import it.
Result<TorchInstall> torch_of_python(const std::string& python);
// The torch that C++ programs find by default or through LD_LIBRARY_PATH.
Result<TorchInstall> torch_of_system();

// The `sonde torch build` command for the libtorch_cpu that `program` loaded; "" if that torch
// lacks what it needs.
std::string build_advice(const std::string& library, const std::string& program);
// The same for a torch that was found by its prefix.
std::string build_advice(const TorchInstall& torch);

// Sorted as by glob(3).
std::vector<std::string> paths_matching(const std::string& pattern);

}  // namespace sonde::cli
