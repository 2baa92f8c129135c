// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sonde itself, the machine it records on, and CUDA's libraries.

#include <dlfcn.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "agent/run_options.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/text.h"
#include "cli/run/run.h"
#include "cli/setup/doctor.h"
#include "sonde/version.h"

namespace sonde::cli {
namespace {

namespace fs = std::filesystem;

std::string first_line(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

Check check_file(std::string id, const std::string& path, std::string advice) {
  if (::access(path.c_str(), R_OK) == 0) return {std::move(id), CheckState::Ok, path, ""};
  return {std::move(id), CheckState::Missing, path, std::move(advice)};
}

Check check_clock() {
  if (tick_source() != TickSource::Counter) {
    return {"clock", CheckState::Limited,
            "CLOCK_MONOTONIC_RAW: the processor's counter is not invariant here, or is turned off",
            "a scope costs tens of ns more; unset SONDE_CLOCK if it is set"};
  }
  const ClockAnchor first = take_anchor();
  ::usleep(20'000);
  const TickMap map({first, take_anchor()});
  return {"clock", CheckState::Ok,
          format_text("the processor's invariant counter, {:.3f} GHz", 1.0 / map.ns_per_tick()),
          ""};
}

Check check_folder() {
  const RunOptions defaults;
  struct statvfs facts = {};
  if (::access(".", W_OK) != 0 || ::statvfs(".", &facts) != 0) {
    return {"folder", CheckState::Limited, "the current folder is not writable",
            "choose another folder with `sonde run -o`"};
  }
  const std::uint64_t free = std::uint64_t{facts.f_bavail} * facts.f_frsize;
  const bool enough = free > 2 * defaults.budget_bytes;
  return {"folder", enough ? CheckState::Ok : CheckState::Limited,
          bytes_text(free) + " free in the current folder",
          enough ? ""
                 : "a recording needs " + bytes_text(defaults.budget_bytes) +
                       " for its buffers; lower --budget, or choose another folder with -o"};
}

Check check_sysctl(std::string id, const std::string& path, int most, const std::string& what,
                   const std::string& advice) {
  const std::string value = first_line(path);
  if (value.empty()) return {std::move(id), CheckState::Ok, what + ": no limit is set", ""};
  const bool allowed = ::geteuid() == 0 || std::atoi(value.c_str()) <= most;
  return {std::move(id), allowed ? CheckState::Ok : CheckState::Limited,
          format_text("{}: {} is {}", what, fs::path(path).filename().string(), value),
          allowed ? "" : advice};
}

// A library, and a function of it that returns a version. Calling it starts nothing.
template <typename Number>
Check check_library(std::string id, std::initializer_list<const char*> names, const char* function,
                    const std::string& advice) {
  for (const char* const name : names) {
    void* const library = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) continue;
    std::string found = name;
    Number version = 0;
    auto* const ask = reinterpret_cast<int (*)(Number*)>(::dlsym(library, function));
    if (ask != nullptr && ask(&version) == 0) found += format_text(", version {}", version);
    return {std::move(id), CheckState::Ok, std::move(found), ""};
  }
  return {std::move(id), CheckState::Missing, std::string(*names.begin()) + " not found", advice};
}

Check check_nvtx() {
  for (const char* const folder : {"/usr/include", "/usr/local/cuda/include"}) {
    const std::string header = std::string(folder) + "/nvtx3/nvToolsExt.h";
    if (::access(header.c_str(), R_OK) == 0) return {"cuda.nvtx", CheckState::Ok, header, ""};
  }
  return {"cuda.nvtx", CheckState::Missing, "nvtx3/nvToolsExt.h not found",
          "only needed to compile programs that mark ranges with NVTX"};
}

}  // namespace

std::vector<Check> check_sonde() {
  std::vector<Check> checks;
  const auto folder = library_folder();
  if (!folder) return {{"sonde", CheckState::Missing, folder.error().message, "reinstall Sonde"}};
  checks.push_back(
      {"sonde", CheckState::Ok, "version " SONDE_VERSION ", libraries in " + *folder, ""});
  const std::string advice =
      "`sonde run` needs it: reinstall Sonde completely, with shared libraries";
  checks.push_back(
      check_file("sonde.preload", plugin_path(*folder, "libsonde_preload.so"), advice));
  checks.push_back(check_file("sonde.agent", plugin_path(*folder, "libsonde_agent.so"), advice));
  const fs::path guide = fs::path(*folder) / SONDE_GUIDE_FROM_LIBRARIES / "README.md";
  if (::access(guide.c_str(), R_OK) == 0)  // not in a build folder
    checks.push_back({"sonde.guide", CheckState::Ok, guide.lexically_normal().string(), ""});
  return checks;
}

std::vector<Check> check_recording() {
  return {
      check_clock(), check_folder(),
      check_sysctl("perf", "/proc/sys/kernel/perf_event_paranoid", 2, "counting one's own events",
                   "not needed by `sonde run`; `sysctl kernel.perf_event_paranoid=2` allows it"),
      check_sysctl("ptrace", "/proc/sys/kernel/yama/ptrace_scope", 0, "attaching to processes",
                   "not needed by `sonde run`; debuggers can attach only to their own children")};
}

std::vector<Check> check_cuda() {
  return {check_library<int>("cuda.driver", {"libcuda.so.1"}, "cuDriverGetVersion",
                             "only needed for NVIDIA GPUs: install the driver"),
          check_library<std::uint32_t>(
              "cuda.cupti", {"libcupti.so", "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"},
              "cuptiGetVersion",
              "only needed to record NVIDIA GPUs: install CUPTI, which is part of the CUDA "
              "toolkit, and add its folder to LD_LIBRARY_PATH"),
          check_nvtx()};
}

}  // namespace sonde::cli
