// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/setup/python_package.h"

#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "agent/run_environment.h"
#include "cli/run/child_output.h"
#include "cli/setup/torch_install.h"

namespace sonde::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPythonPath = "PYTHONPATH";
// Relative to the libraries: installed, in an environment that a wheel was installed into, and in a
// build folder.
constexpr const char* kPackagesFromLibraries[] = {
    "./" SONDE_PYTHON_FROM_LIBRARIES "/" SONDE_PYTHON_FOLDER "/*-packages",
    "./" SONDE_PYTHON_FROM_LIBRARIES "/python3*/*-packages", "../python"};

// Prints what stands in the way, or nothing, then the file that was written, or nothing.
constexpr const char* kGivePackage = R"(
import importlib.util, os, sys, sysconfig
why = path = ""
if sys.version_info < (3, 9):
    why = "is Python %d.%d; the package sonde needs 3.9 or later" % sys.version_info[:2]
elif importlib.util.find_spec("sonde") is None:
    path = os.path.join(sysconfig.get_path("purelib"), "sonde.pth")
    try:
        with open(path, "w") as file:
            file.write(sys.argv[1] + "\n")
    except OSError as error:
        why = "cannot be given the package sonde: " + str(error)
print(why)
print(path)
)";

}  // namespace

Result<std::string> python_package_folder(const std::string& library_folder) {
  for (const char* const below : kPackagesFromLibraries) {
    const fs::path pattern = fs::path(library_folder) / below / "sonde" / "_native.abi3.so";
    const std::vector<std::string> found = paths_matching(pattern.lexically_normal().string());
    if (!found.empty()) return fs::path(found.front()).parent_path().parent_path().string();
  }
  return Failure(ErrorCode::NotFound,
                 library_folder +
                     ": the package sonde for Python is not installed with it; build Sonde where "
                     "libpython3-dev is installed");
}

Result<std::string> give_package_to(const std::string& python, const std::string& package_folder) {
  SONDE_TRY(const ChildOutput said,
            child_output({python, "-c", kGivePackage, package_folder}, ChildErrors::Dropped));
  std::string text = said.text;
  if (said.status != 0 || text.empty() || text.back() != '\n')
    return Failure(ErrorCode::Io, python + ": exited with status " + std::to_string(said.status) +
                                      " when it was given the package sonde");
  text.pop_back();
  // Code that runs at every start of Python may have printed lines before.
  const std::size_t path_at = text.rfind('\n') + 1;
  const std::string path = text.substr(path_at);
  text.resize(path_at > 0 ? path_at - 1 : 0);
  const std::string why = text.substr(text.rfind('\n') + 1);
  if (!why.empty()) return Failure(ErrorCode::Io, python + " " + why);
  if (path.empty()) return "`import sonde` already works in " + python;
  return "`import sonde` now works in " + python + ": wrote " + path;
}

// Python imports `sitecustomize` before the program; ours calls the one that it hides.
void add_wishes(ChildCommand& child, const PythonWishes& wishes,
                const std::string& package_folder) {
  const std::pair<bool, const char*> words[] = {
      {wishes.stand_in, "stand-in"}, {wishes.calls, "calls"},   {wishes.modules, "modules"},
      {wishes.tensors, "tensors"},   {wishes.stacks, "stacks"}, {wishes.shapes, "shapes"}};
  std::string wanted;
  for (const auto& [is_wanted, word] : words) {
    if (is_wanted) wanted += (wanted.empty() ? "" : ",") + std::string(word);
  }
  child.environment.emplace_back(kRunPython, wanted);
  std::string path = package_folder + "/sonde/_site:" + package_folder;
  const char* const others = ::getenv(kPythonPath);
  if (others != nullptr && *others != '\0') path += std::string(":") + others;
  child.environment.emplace_back(kPythonPath, path);
}

}  // namespace sonde::cli
