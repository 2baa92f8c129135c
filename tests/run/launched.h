// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A program that a test starts, with its output: above all `sonde run` and `sonde ctl`.
//
//   Launched run(dir, {SONDE_PROGRAM, "run", "--", "/bin/true"});
//   EXPECT_EQ(run.wait(), 0) << run.errors();

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "collect/testing/recorded.h"
#include "sonde/trace.h"
#include "trace/testing/temp_dir.h"

namespace sonde::testing {

class Launched {
 public:
  // Starts it in its own process group, in the folder `dir`.
  Launched(const TempDir& dir, std::vector<std::string> words,
           const std::vector<std::pair<std::string, std::string>>& environment = {})
      : output_path_(dir.file("stdout-" + std::to_string(++count()))),
        errors_path_(dir.file("stderr-" + std::to_string(count()))) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::setpgid(0, 0);
    if (::chdir(dir.path().c_str()) != 0) ::_exit(98);
    redirect(output_path_, STDOUT_FILENO);
    redirect(errors_path_, STDERR_FILENO);
    ::setenv("TMPDIR", dir.path().c_str(), 1);  // a killed `sonde run` cannot tidy up
    // A sanitizer's runtime objects to a preload library that comes before it.
    ::setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv(pointers[0], pointers.data());
    ::_exit(99);
  }
  ~Launched() {
    if (pid_ > 0) ::kill(-pid_, SIGKILL);
    if (pid_ > 0) wait();
  }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

  // Its exit status; -N if signal N killed it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  pid_t pid() const { return pid_; }
  std::string output() const { return read_file(output_path_).value_or(""); }
  std::string errors() const { return read_file(errors_path_).value_or(""); }

 private:
  static int& count() {
    static int launched = 0;
    return launched;
  }
  static void redirect(const std::string& path, int descriptor) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ::dup2(fd, descriptor);
  }

  std::string output_path_;
  std::string errors_path_;
  pid_t pid_ = -1;
};

inline std::vector<std::string> sonde_run(std::vector<std::string> words) {
  words.insert(words.begin(), {SONDE_PROGRAM, "run", "--force"});
  return words;
}

// Waits for a file that a program makes when it is ready, or for another condition; at most 20
// seconds.
template <typename Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 20'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

inline bool wait_for_file(const std::string& path) {
  return eventually([&] { return std::filesystem::exists(path); });
}

inline std::vector<std::string> files_ending_in(const std::string& folder,
                                                const std::string& suffix) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.size() >= suffix.size() && path.ends_with(suffix)) found.push_back(path);
  }
  return found;
}

// How many spans of that name a file has; fails the test if it does not open.
inline std::size_t spans_in(const std::string& path, std::string_view name) {
  const auto trace = open_sonde(path);
  if (!trace) {
    ADD_FAILURE() << trace.error().message;
    return 0;
  }
  return count_spans(*trace, name);
}

inline std::vector<pid_t> children_of(const Launched& run) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::string status;
    std::getline(std::ifstream(entry.path().string() + "/stat"), status);
    const std::size_t name_end = status.rfind(')');
    if (name_end != std::string::npos && std::atoi(status.c_str() + name_end + 4) == run.pid())
      found.push_back(std::atoi(entry.path().filename().c_str()));
  }
  return found;
}

// The process that a `sonde run` started, recognised by its command: the other child is its
// witness.
inline pid_t program_of(const Launched& run, const std::string& program) {
  pid_t found = 0;
  eventually([&] {
    for (const pid_t child : children_of(run)) {
      std::error_code ignored;
      const std::string link = "/proc/" + std::to_string(child) + "/exe";
      if (std::filesystem::read_symlink(link, ignored) == program) found = child;
    }
    return found > 0;
  });
  return found;
}

}  // namespace sonde::testing
