// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/setup/torch_compile.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <sstream>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/parallel.h"
#include "cli/print/interrupts.h"
#include "cli/run/child_output.h"
#include "cli/run/target.h"

namespace sonde::cli {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

constexpr int kMostLines = 60;  // of a compiler's output

// A folder for intermediate files, beside the result, so that a rename suffices at the end.
class WorkFolder {
 public:
  static Result<WorkFolder> create(const fs::path& beside) {
    std::error_code failed;
    fs::create_directories(beside, failed);
    if (failed)
      return Failure(ErrorCode::Io, beside.string() + ": cannot create: " + failed.message());
    std::string path = (beside / ".building-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) return io_failure(path, "cannot create", errno);
    return WorkFolder(std::move(path));
  }
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  WorkFolder& operator=(WorkFolder&&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit WorkFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// CXX may contain a launcher and options besides the compiler.
Result<Words> compiler() {
  Words words;
  const char* const given = ::getenv("CXX");
  std::istringstream text(given != nullptr ? given : "");
  for (std::string word; text >> word;) words.push_back(word);
  if (!words.empty()) return words;
  for (const char* const name : {"c++", "g++", "clang++"}) {
    if (find_target(name).errno_value == 0) return Words{name};
  }
  return Failure(ErrorCode::NotFound, "no C++ compiler found; install g++ or set CXX");
}

// The C++ standard that the headers of that torch require.
std::string standard_of(const TorchInstall& torch) {
  const auto text = read_file(torch.include + "/torch/csrc/api/include/torch/all.h");
  const bool needs_20 = text && text->find("__cplusplus < 202002L") != std::string::npos;
  return needs_20 ? "-std=c++20" : "-std=c++17";
}

Words compile_flags(const AdapterSources& sources, const TorchInstall& torch) {
  // Without NDEBUG, an inlined check of RecordFunction reads a flag that no release build of torch
  // sets.
  Words words = {standard_of(torch),
                 "-O2",
                 "-DNDEBUG",
                 "-fPIC",
                 "-fno-omit-frame-pointer",
                 std::string("-D_GLIBCXX_USE_CXX11_ABI=") + (torch.cxx11_abi ? "1" : "0")};
  for (const std::string& folder : sources.includes) words.push_back("-I" + folder);
  // If the system's own folder were listed here, it would come too late for its C headers.
  if (torch.include != "/usr/include") words.insert(words.end(), {"-isystem", torch.include});
  words.insert(words.end(), {"-isystem", torch.include + "/torch/csrc/api/include"});
  return words;
}

// The libraries by path. A process has loaded them under the names inside them, and no search path
// may bring in others.
Result<Words> link_words(const TorchInstall& torch, const std::string& library_folder) {
  Words words = {"-Wl,--no-undefined"};
  for (const char* const name : {"/libsonde.so", "/libsonde_record.so"}) {
    // The one without a version if it exists, else one with a version.
    const auto found = paths_matching(library_folder + name + "*");
    if (found.empty())
      return Failure(ErrorCode::NotFound,
                     library_folder + name + ": missing; it is needed to build adapters");
    words.push_back(found.front());
  }
  words.insert(words.end(), {torch.library, torch.c10_library, "-ldl"});
  return words;
}

std::string first_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string shown;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    if (count < kMostLines) shown += "\n" + line;
  }
  if (count > kMostLines) shown += "\n… and " + std::to_string(count - kMostLines) + " more lines";
  return shown;
}

Result<void> call(const Words& words) {
  SONDE_TRY(const ChildOutput said, child_output(words, ChildErrors::Kept));
  if (said.status == 0) return {};
  return Failure(ErrorCode::Unsupported, "the compiler failed with status " +
                                             std::to_string(said.status) + ":\n  " +
                                             command_text(words) + first_lines(said.text));
}

// Compiles each source in a separate process.
Result<void> compile_all(const Words& cxx, const Words& flags, const Words& files,
                         const Words& objects) {
  std::vector<Result<void>> results(files.size());
  parallel_for(files.size(), [&](std::size_t i) {
    Words words = cxx;
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"-c", files[i], "-o", objects[i]});
    results[i] = call(words);
  });
  for (const Result<void>& result : results) {
    if (!result) return result;
  }
  return {};
}

Result<void> link_all(const Words& cxx, const Words& objects, const Words& libraries,
                      const std::string& output) {
  Words words = cxx;
  words.insert(words.end(), {"-shared", "-o", output});
  words.insert(words.end(), objects.begin(), objects.end());
  words.insert(words.end(), libraries.begin(), libraries.end());
  return call(words);
}

}  // namespace

Result<void> compile_adapter(const AdapterSources& sources, const TorchInstall& torch,
                             const std::string& library_folder, const std::string& output) {
  SONDE_TRY(const Words cxx, compiler());
  SONDE_TRY(const Words libraries, link_words(torch, library_folder));
  SONDE_TRY(const WorkFolder work, WorkFolder::create(fs::path(output).parent_path()));
  const InterruptsAwaited interrupts;
  Words objects;
  objects.reserve(sources.files.size());
  for (const std::string& file : sources.files)
    objects.push_back(work.file(fs::path(file).stem().string() + ".o"));
  SONDE_TRY_VOID(compile_all(cxx, compile_flags(sources, torch), sources.files, objects));
  const std::string linked = work.file("adapter.so");
  SONDE_TRY_VOID(link_all(cxx, objects, libraries, linked));
  std::error_code failed;
  fs::rename(linked, output, failed);
  if (failed) return Failure(ErrorCode::Io, output + ": cannot write: " + failed.message());
  return {};
}

}  // namespace sonde::cli
