// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The file name of an adapter built by `sonde torch build`. It says which libtorch the adapter is
// for, because the library is called "libtorch_cpu.so" in many torches:
//
//   libsonde_torch-2.11.0-abi1-6f0d9a4be21c7735-0b1e44f2a9d36c80.so
//                  |      |    |                |
//                  |      |    libtorch_cpu     the sources of Sonde
//                  |      C++ ABI of libstdc++
//                  version of torch

#include <optional>
#include <string>
#include <string_view>

#include "sonde/result.h"

namespace sonde {

struct AdapterName {
  std::string torch_version;
  bool cxx11_abi = true;
  std::string library_key;  // from torch_library_key()
  std::string sonde_key;    // of the sources and headers it was compiled from
};

std::string to_file_name(const AdapterName& name);
// Parses a path; nothing for other adapters.
std::optional<AdapterName> adapter_name_of(std::string_view path);

// Identifies a build of libtorch_cpu, wherever it is installed, by its size and its first page,
// which has the layout of the rest.
Result<std::string> torch_library_key(const std::string& path);

// 16 hexadecimal digits. `so_far` is the key of the text before it.
std::string key_of(std::string_view text, const std::string& so_far = "");

}  // namespace sonde
