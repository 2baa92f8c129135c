// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/run.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "agent/report.h"
#include "agent/run_environment.h"
#include "base/new_file.h"
#include "cli/print/output.h"
#include "cli/run/apart.h"
#include "cli/run/child.h"
#include "cli/run/child_output.h"
#include "cli/run/dumps.h"
#include "cli/run/summary.h"
#include "cli/run/target.h"
#include "cli/setup/python_package.h"
#include "cli/setup/torch_adapters.h"
#include "collect/output_name.h"
#include "sonde/trace.h"
#include "sonde/version.h"

namespace sonde::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInjection = "CUDA_INJECTION64_PATH";
constexpr int kNotFound = 127;
constexpr int kCannotStart = 126;
// Of the run log, which is to have room although the disk fills up: some hundred processes.
constexpr std::size_t kReportBytes = std::size_t{64} << 10;

struct Libraries {
  std::string preload;
  std::string agent;
  std::string nvtx;
};

Result<Libraries> find_libraries(const std::string& folder) {
  Libraries libraries = {plugin_path(folder, "libsonde_preload.so"),
                         plugin_path(folder, "libsonde_agent.so"),
                         plugin_path(folder, "libsonde_nvtx.so")};
  for (const std::string& path : {libraries.preload, libraries.agent, libraries.nvtx}) {
    if (::access(path.c_str(), R_OK) != 0)
      return Failure(ErrorCode::NotFound, path + ": missing; reinstall Sonde completely");
  }
  if (libraries.preload.find_first_of(": ") != std::string::npos) {
    return Failure(
        ErrorCode::Unsupported,
        libraries.preload + ": LD_PRELOAD cannot contain a path with a space or a colon");
  }
  return libraries;
}

// The tool that receives the program's NVTX ranges; empty if that is Sonde.
std::string other_nvtx_tool(const Libraries& libraries) {
  const char* const named = ::getenv(kNvtxInjection);
  return named == nullptr || named == libraries.nvtx ? "" : named;
}

// Empty if OpenCL is not recorded.
Result<std::string> find_opencl_layer(const RunCommand& command, const std::string& folder) {
  if (!command.opencl) return std::string();
  std::string path = plugin_path(folder, "libsonde_opencl.so");
  if (::access(path.c_str(), R_OK) == 0) return path;
  return Failure(ErrorCode::NotFound, path + ": missing; Sonde was built without OpenCL headers");
}

// Adds it after the layers that the user has set.
void add_opencl_layer(ChildCommand& child, const std::string& layer) {
  if (layer.empty() || child.environment.empty()) return;
  const char* const others = ::getenv(kOpenclLayers);
  const bool alone = others == nullptr || *others == '\0';
  child.environment.emplace_back(kOpenclLayers, alone ? layer : std::string(others) + ":" + layer);
  child.environment.emplace_back(kRunOpencl, layer);
}

// The execution trace beside "train.sonde" is "train.et.json.gz".
std::string execution_trace_beside(const std::string& output) {
  constexpr std::string_view kSuffix = ".sonde";
  const bool has_suffix = output.ends_with(kSuffix);
  return output.substr(0, output.size() - (has_suffix ? kSuffix.size() : 0)) + ".et.json.gz";
}

// Checked now, and not after the program has run for hours. Words in braces are filled in later,
// and processes may have other permissions than ours.
Result<void> check_folder_of(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return Failure(ErrorCode::Invalid, path + ": is a folder; name a file");
  const std::string folder = fs::path(path).parent_path().string();
  const bool is_known = !folder.empty() && folder.find('{') == std::string::npos;
  if (!is_known || fs::is_directory(folder, ignored)) return {};
  return Failure(ErrorCode::NotFound, path + ": there is no folder " + folder);
}

Result<RunOptions> completed(RunOptions options) {
  std::error_code failed;
  for (std::string* const path : {&options.output, &options.execution_trace}) {
    if (path->empty()) continue;
    SONDE_TRY_VOID(check_folder_of(*path));
    *path = fs::absolute(*path, failed).string();
    if (failed)
      return Failure(ErrorCode::Io, "the current folder no longer exists: " + failed.message());
  }
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  options.started_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  return options;
}

// A runtime of the address sanitizer that is a library of its own, as g++ links it, refuses to
// start a program in which another library comes before it. It need not be first for what the
// preload library does. What the user says comes later and counts.
std::pair<std::string, std::string> address_sanitizer_options() {
  const char* const others = ::getenv(kAsanOptions);
  const bool alone = others == nullptr || *others == '\0';
  const std::string ours = kAsanMayBeSecond;
  return {kAsanOptions, alone ? ours : ours + ":" + others};
}

ChildCommand child_command(const RunCommand& command, const RunOptions& options,
                           const Target& target, const Libraries& libraries) {
  ChildCommand child;
  child.path = target.path;
  child.arguments = command.program;
  if (!target.can_preload()) return child;
  const char* const others = ::getenv("LD_PRELOAD");
  const bool alone = others == nullptr || *others == '\0';
  child.environment = to_environment(options);
  child.environment.emplace_back("LD_PRELOAD",
                                 alone ? libraries.preload : libraries.preload + ":" + others);
  child.environment.push_back(address_sanitizer_options());
  child.environment.emplace_back(kRunPreload, libraries.preload);
  child.environment.emplace_back(kRunAgent, libraries.agent);
  // The driver opens it when the program begins to use CUDA.
  if (!options.cuda_library.empty() && ::getenv(kInjection) == nullptr)
    child.environment.emplace_back(kInjection, options.cuda_library);
  if (other_nvtx_tool(libraries).empty()) {
    child.environment.emplace_back(kRunNvtx, libraries.nvtx);
    child.environment.emplace_back(kNvtxInjection, libraries.nvtx);
  }
  // Or torch's own profiler would take the requests that are Sonde's.
  if (options.on_demand) child.removed.emplace_back(kKinetoDaemon);
  if (!options.follow_children) child.pid_variable = kRunOnlyPid;
  for (const int number : {options.signal_start, options.signal_stop, options.dump.signal}) {
    if (number != 0) child.ignored_signals.push_back(number);  // until the agent listens
  }
  return child;
}

// Modules are also asked for in programs without Python, which do not need the package.
Result<void> ask_python(ChildCommand& child, const RunCommand& command, const std::string& folder) {
  const RecordOptions& record = command.options.record;
  PythonWishes wishes;
  wishes.stand_in = command.as_torch_profiler;
  wishes.calls = command.calls;
  wishes.modules = record.with_modules;
  wishes.tensors = record.with_modules && record.record_shapes && record.profile_memory;
  wishes.stacks = record.with_stack || record.with_native_stack;
  wishes.shapes = record.record_shapes;
  if (!wishes.any() || child.environment.empty()) return {};
  const Result<std::string> package = python_package_folder(folder);
  if (package) {
    add_wishes(child, wishes, *package);
  } else if (wishes.stand_in || wishes.calls) {
    return Failure(package.error());
  } else if (!command.quiet) {
    say("modules of Python are not recorded: " + package.error().message);
  }
  return {};
}

std::string signal_words(int number) {
  return "signal " + std::to_string(number) + " (" + ::strsignal(number) + ")";
}

// Prints the message that a shell would print.
int cannot_start(const std::string& program, int reason) {
  const bool bare = program.find('/') == std::string::npos;
  say(program + ": " + (reason == ENOENT && bare ? "command not found" : std::strerror(reason)));
  return reason == ENOENT || reason == ENOTDIR ? kNotFound : kCannotStart;
}

}  // namespace

std::string plugin_path(const std::string& library_folder, const std::string& name) {
  std::string installed = library_folder + "/sonde/" + name;
  return ::access(installed.c_str(), R_OK) == 0 ? installed : library_folder + "/" + name;
}

Result<std::string> library_folder() {
  Dl_info found = {};
  if (::dladdr(reinterpret_cast<void*>(&save_trace), &found) == 0 || found.dli_fname == nullptr)
    return Failure(ErrorCode::Internal, "the loader does not say where libsonde is");
  std::error_code failed;
  const fs::path library = fs::canonical(found.dli_fname, failed);
  if (failed) return Failure(ErrorCode::Io, std::string(found.dli_fname) + ": " + failed.message());
  return library.parent_path().string();
}

Result<void> check(const RunCommand& command) {
  const std::string& output = command.options.output;
  // Reported here, before each process finds the same error.
  if (const Result<std::string> filled = fill_output_name(output); !filled)
    return Failure(filled.error());
  if (output.find_first_of("\n\t") != std::string::npos)
    return Failure(ErrorCode::Invalid, "output: a name cannot contain line breaks or tabs");
  if (output.empty()) return Failure(ErrorCode::Invalid, "output: the name is empty");
  std::error_code ignored;
  for (const std::string& file : {output, dump_path(output, 1)}) {
    const bool is_written = file == output || command.dump_on.any();
    if (!command.force && is_written && fs::is_regular_file(file, ignored))
      return Failure(ErrorCode::Invalid,
                     file + ": exists; add --force to replace it, or choose another name");
  }
  const DumpRules& dump = command.options.dump;
  if (dump.signal != 0 &&
      (dump.signal == command.options.signal_start || dump.signal == command.options.signal_stop))
    return Failure(ErrorCode::Invalid, "--dump-on: the signal already starts or stops recording");
  for (const std::string_view other : {".json", ".json.gz", ".pftrace", ".stacks", ".csv", ".html"})
    if (output.ends_with(other))
      return Failure(ErrorCode::Invalid, output +
                                             ": the name of a recording must end in .sonde; `sonde "
                                             "export` converts it to other formats");
  return {};
}

Result<int> run_program(const RunCommand& command) {
  const std::string& program = command.program.front();
  const Target target = find_target(program);
  if (target.errno_value != 0) return cannot_start(program, target.errno_value);
  SONDE_TRY(const std::string folder, library_folder());
  SONDE_TRY(const Libraries libraries, find_libraries(folder));
  SONDE_TRY(const std::string opencl_layer, find_opencl_layer(command, folder));
  RunOptions asked = command.options;
  if (command.with_execution_trace && asked.execution_trace.empty())
    asked.execution_trace = execution_trace_beside(asked.output);
  SONDE_TRY(RunOptions options, completed(std::move(asked)));
  const auto report = TemporaryFile::create_to_share("sonde-run", kReportBytes,
                                                     fs::path(options.output).parent_path());
  if (report) options.report = report->path();
  options.adapters = usable_adapters(folder);
  if (command.with_gpu) options.cuda_library = folder + "/libsonde_cuda.so." SONDE_SOVERSION;

  ChildCommand child = child_command(command, options, target, libraries);
  add_opencl_layer(child, opencl_layer);
  SONDE_TRY_VOID(ask_python(child, command, folder));
  SONDE_TRY(const ChildEnd end, run_child(child));
  if (end.exec_errno != 0) return cannot_start(program, end.exec_errno);
  // The reader of our messages may be gone, or the disk full. The exit status still matters.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  const int status = end.killed ? kStatusOfSignals + end.number : end.number;
  if (!command.quiet && end.killed) say(program + " was killed by " + signal_words(end.number));
  if (!report) {
    if (!command.quiet) say("cannot tell what was recorded: " + report.error().message);
    return status;
  }
  const pid_t own_pid = ::getpid();
  const std::string failure = run_apart([&] {
    std::vector<ReportEntry> entries;
    if (auto read = read_report(options.report)) entries = *std::move(read);
    if (status != 0) note_ending(entries, end.pid, end.killed, end.number);
    DumpsMade dumps;
    if (command.dump_on.any()) {
      dumps = settle_dumps(entries, command.dump_on, options.dump.ring_ns, command.dumps, own_pid);
      entries = dumps.report;
    }
    std::vector<std::string> lines =
        closing_lines(entries, target, program, options, own_pid, dumps.why_none);
    lines.insert(lines.begin(), dumps.lines.begin(), dumps.lines.end());
    if (const std::string tool = other_nvtx_tool(libraries); !tool.empty())
      lines.push_back("NVTX ranges are not recorded: " + std::string(kNvtxInjection) + " names " +
                      tool);
    for (const std::string& line : lines) {
      if (!command.quiet) say(line);
    }
  });
  if (!command.quiet && !failure.empty())
    say("the recording could not be examined: " + failure + "; see `sonde info FILE`");
  return status;
}

}  // namespace sonde::cli
