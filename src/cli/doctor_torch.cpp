// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which torches there are: the system's library for C++, and the one that python3 imports.

#include <fmt/format.h>
#include <glob.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "base/file.h"
#include "cli/doctor.h"

namespace sonde::cli {
namespace {

// Prints path, version, C++ ABI and CUDA version, one a line.
constexpr const char* kAskPython =
    "python3 -c 'import torch; print(torch.__file__, torch.__version__, "
    "int(torch._C._GLIBCXX_USE_CXX11_ABI), torch.version.cuda, sep=\"\\n\")' 2>/dev/null "
    "</dev/null";

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  return paths;
}

// Where a loader looks, as far as this can be told without asking it.
std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  const char* const given = std::getenv("LD_LIBRARY_PATH");
  std::istringstream list(given != nullptr ? given : "");
  for (std::string folder; std::getline(list, folder, ':');) folders.push_back(folder);
  for (const char* const folder :
       {"/usr/local/lib", "/usr/lib/*-linux-gnu", "/usr/lib", "/usr/lib64"})
    folders.emplace_back(folder);
  return folders;
}

std::string cxx11_abi_of(const std::string& torch_library) {
  const std::string folder = torch_library.substr(0, torch_library.rfind('/'));
  for (const std::string& c10 : matches(folder + "/libc10.so*")) {
    const auto file = MappedFile::open(c10);
    if (!file) continue;
    const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                                file->bytes().size());
    return text.find("St7__cxx1112basic_string") != std::string_view::npos ? "1" : "0";
  }
  return "unknown";
}

std::string header_version() {
  const auto text = read_file("/usr/include/torch/csrc/api/include/torch/version.h");
  if (!text) return "";
  const std::size_t at = text->find("TORCH_VERSION \"");
  if (at == std::string::npos) return "";
  const std::size_t begin = text->find('"', at) + 1;
  return text->substr(begin, text->find('"', begin) - begin);
}

Check check_system_torch() {
  for (const std::string& folder : library_folders()) {
    const auto found = matches(folder + "/libtorch_cpu.so*");
    if (found.empty()) continue;
    const std::string headers = header_version();
    return {"torch.system", CheckState::Ok,
            fmt::format("{}, C++11 ABI {}{}", found.back(), cxx11_abi_of(found.back()),
                        headers.empty() ? "" : ", headers of " + headers),
            headers.empty() ? "to compile C++ programs with it: install libtorch-dev" : ""};
  }
  return {"torch.system", CheckState::Missing, "no libtorch_cpu.so among the system's libraries",
          "only needed for C++ programs that use the system's torch: install libtorch-dev"};
}

std::vector<std::string> output_lines(const char* command) {
  std::vector<std::string> lines;
  FILE* const pipe = ::popen(command, "r");  // NOLINT(bugprone-command-processor): a constant
  if (pipe == nullptr) return lines;
  std::string text;
  std::array<char, 4096> piece = {};
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe))
    text.append(piece.data(), got);
  ::pclose(pipe);
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Check check_python_torch() {
  const auto lines = output_lines(kAskPython);
  if (lines.size() < 4) {
    return {"torch.python", CheckState::Missing, "python3 cannot import torch",
            "only needed for Python programs: activate their environment, then ask again"};
  }
  return {"torch.python", CheckState::Ok,
          fmt::format("{} ({}), C++11 ABI {}, CUDA {}", lines[1], lines[0], lines[2], lines[3]),
          ""};
}

}  // namespace

std::vector<Check> check_torch() {
  return {check_system_torch(), check_python_torch()};
}

}  // namespace sonde::cli
