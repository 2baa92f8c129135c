// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/setup/torch_install.h"

#include <glob.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/file.h"
#include "cli/run/child_output.h"

namespace sonde::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHeader = "/ATen/record_function.h";

// Prints where torch is and the folders of the interpreter's installation. The current folder may
// have a module of that name, which a script elsewhere would not see, so it is not searched.
constexpr const char* kAskPython = R"(
import importlib.util, sys
sys.path[:] = [folder for folder in sys.path if folder]
spec = importlib.util.find_spec("torch")
if spec is not None and spec.origin is not None:
    print(spec.submodule_search_locations[0], sys.prefix, sys.base_prefix, sep="\n")
)";

bool is_readable(const std::string& path) {
  return ::access(path.c_str(), R_OK) == 0;
}

std::string folder_of(const std::string& path) {
  return fs::path(path).parent_path().string();
}

// The link without a version if it exists, else the newest.
std::string library_in(const std::string& folder, const std::string& name) {
  const auto plain = paths_matching(folder + "/" + name);
  if (!plain.empty()) return plain.front();
  const auto versioned = paths_matching(folder + "/" + name + ".*");
  return versioned.empty() ? "" : versioned.back();
}

std::string library_below(const std::string& prefix) {
  for (const char* const folder : {"/lib", "/lib/*-linux-gnu", "/lib64"}) {
    if (std::string found = library_in(prefix + folder, "libtorch_cpu.so"); !found.empty())
      return found;
  }
  return "";
}

// "#define TORCH_VERSION_MAJOR 2" and so on; newer torches have it in the second file.
std::string header_version(const std::string& include) {
  for (const char* const file :
       {"/torch/csrc/api/include/torch/version.h", "/torch/headeronly/version.h"}) {
    const auto text = read_file(include + file);
    if (!text) continue;
    std::string version;
    for (const char* const part : {"MAJOR", "MINOR", "PATCH"}) {
      const std::string define = std::string("#define TORCH_VERSION_") + part + " ";
      const std::size_t at = text->find(define);
      if (at == std::string::npos) break;
      version += version.empty() ? "" : ".";
      version += std::to_string(std::atoi(text->c_str() + at + define.size()));
    }
    if (!version.empty()) return version;
  }
  return "";
}

// Decided by the symbol of a c10 function that takes a string.
Result<bool> uses_cxx11_abi(const std::string& c10_library) {
  SONDE_TRY(const MappedFile file, MappedFile::open(c10_library));
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  if (text.find("SourceLocationENSt7__cxx1112basic_string") != std::string_view::npos) return true;
  if (text.find("SourceLocationESs") != std::string_view::npos) return false;
  return Failure(ErrorCode::Unsupported, c10_library + ": cannot determine its C++ ABI");
}

// The value in a line "name = 'value'" or "name: type = 'value'" of version.py; "" for None.
std::string python_value(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(name, 0) != 0 || line.find_first_of(" :=") != name.size()) continue;
    const std::size_t begin = line.find_first_of("'\"");
    if (begin == std::string::npos) return "";
    return line.substr(begin + 1, line.find(line[begin], begin + 1) - begin - 1);
  }
  return "";
}

// The innermost folder above `library` that also has headers of torch.
std::string prefix_with_headers(const std::string& library) {
  for (fs::path folder = fs::path(library).parent_path(); folder != folder.root_path();
       folder = folder.parent_path()) {
    if (is_readable((folder / "include").string() + kHeader)) return folder.string();
  }
  return "";
}

bool lies_below(const std::string& path, const std::string& folder) {
  return folder.size() > 1 && path.rfind(folder + "/", 0) == 0;
}

// Whether the program is a Python that has the library among its packages.
bool is_python_of(const std::string& program, const std::string& library) {
  std::error_code ignored;
  const fs::path path = fs::absolute(program, ignored).lexically_normal();
  return path.filename().string().rfind("python", 0) == 0 &&
         lies_below(library, path.parent_path().parent_path().string());
}

}  // namespace

Result<TorchInstall> torch_below(const std::vector<std::string>& prefixes) {
  TorchInstall torch;
  // Headers in a later prefix than the library belong to another torch.
  for (const std::string& prefix : prefixes) {
    const std::string include = prefix + "/include";
    if (torch.include.empty() && is_readable(include + kHeader)) torch.include = include;
    torch.library = library_below(prefix);
    if (!torch.library.empty()) break;
  }
  if (torch.library.empty()) {
    return Failure(ErrorCode::NotFound, prefixes.front() + ": has no lib/libtorch_cpu.so");
  }
  torch.c10_library = library_in(folder_of(torch.library), "libc10.so");
  if (torch.c10_library.empty())
    return Failure(ErrorCode::NotFound, torch.library + ": has no libc10.so beside it");
  if (!torch.include.empty()) torch.version = header_version(torch.include);
  SONDE_TRY(torch.cxx11_abi, uses_cxx11_abi(torch.c10_library));
  return torch;
}

Result<TorchInstall> torch_of_python(const std::string& python) {
  SONDE_TRY(const ChildOutput said, child_output({python, "-c", kAskPython}, ChildErrors::Dropped));
  std::vector<std::string> lines;
  std::istringstream text(said.text);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  if (said.status != 0) {
    return Failure(ErrorCode::Io,
                   python + ": exited with status " + std::to_string(said.status) + " when asked");
  }
  if (lines.size() < 3) return Failure(ErrorCode::NotFound, python + " has no torch");
  // Code that runs at every start of Python may have printed lines before.
  lines.erase(lines.begin(), lines.end() - 3);
  SONDE_TRY(TorchInstall torch, torch_below(lines));
  const std::string version = read_file(lines.front() + "/version.py").value_or("");
  torch.python_version = python_value(version, "__version__");
  torch.cuda = python_value(version, "cuda");
  return torch;
}

Result<TorchInstall> torch_of_system() {
  std::vector<std::string> prefixes;
  const char* const given = std::getenv("LD_LIBRARY_PATH");
  std::istringstream list(given != nullptr ? given : "");
  for (std::string folder; std::getline(list, folder, ':');) prefixes.push_back(folder + "/..");
  prefixes.insert(prefixes.end(), {"/usr/local", "/usr"});
  for (const std::string& prefix : prefixes) {
    if (auto torch = torch_below({fs::path(prefix).lexically_normal().string()})) return torch;
  }
  return Failure(ErrorCode::NotFound, "no libtorch_cpu.so among the system's libraries");
}

std::string build_advice(const std::string& library, const std::string& program) {
  std::error_code ignored;
  for (const std::string& path : {library, fs::weakly_canonical(library, ignored).string()}) {
    if (is_python_of(program, path))
      return command_text({"sonde", "torch", "build", "--python", program});
    if (const std::string prefix = prefix_with_headers(path); !prefix.empty())
      return command_text({"sonde", "torch", "build", "--prefix", prefix});
  }
  return "";
}

std::string build_advice(const TorchInstall& torch) {
  return build_advice(torch.library, "");
}

std::vector<std::string> paths_matching(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  return paths;
}

}  // namespace sonde::cli
