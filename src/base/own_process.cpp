// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/own_process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/kept_file.h"

namespace sonde {
namespace {

// A file of /proc that stays open. The program may close it and have its number for another.
class OpenFact {
 public:
  void open(const char* path) {
    close();
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    fd_ = out_of_the_way(fd);
    struct stat facts = {};
    if (::fstat(fd_, &facts) == 0) inode_ = facts.st_ino;
  }
  // Empty if it cannot be had.
  std::string text() const {
    if (!is_ours()) return {};
    std::array<char, 4096> bytes{};
    const ssize_t size = ::pread(fd_, bytes.data(), bytes.size(), 0);
    return {bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  }

 private:
  bool is_ours() const {
    struct stat facts = {};
    return fd_ >= 0 && ::fstat(fd_, &facts) == 0 && facts.st_ino == inode_;
  }
  void close() {
    if (is_ours()) ::close(fd_);
    fd_ = -1;
  }

  int fd_ = -1;
  ino_t inode_ = 0;
};

// Written by watch_own_process() alone. No lock: a child of fork() might find it taken.
struct OwnFacts {
  std::atomic<pid_t> asked{0};
  std::atomic<pid_t> process{0};  // that the rest is about
  OpenFact status;
  OpenFact stat;
  long filters = 0;  // when they were opened
};

OwnFacts& own_facts() {
  static auto* const facts = new OwnFacts;  // never destroyed: used while the process ends
  return *facts;
}

// From "Seccomp_filters:\t2"; 0 if it is missing.
long seccomp_filters(const std::string& status) {
  constexpr const char* kKey = "\nSeccomp_filters:";
  const std::size_t at = status.find(kKey);
  return at == std::string::npos ? 0 : std::strtol(status.c_str() + at + 17, nullptr, 10);
}

}  // namespace

void watch_own_process() {
  OwnFacts& facts = own_facts();
  if (facts.asked.exchange(::getpid()) == ::getpid()) return;
  facts.status.open("/proc/self/status");
  facts.stat.open("/proc/self/stat");
  facts.filters = seccomp_filters(facts.status.text());
  facts.process.store(::getpid(), std::memory_order_release);  // pairs with the two below
}

bool is_in_sandbox() {
  const OwnFacts& facts = own_facts();
  return facts.process.load(std::memory_order_acquire) != 0 &&
         seccomp_filters(facts.status.text()) > facts.filters;
}

std::optional<EndedLeader> ended_leader() {
  const OwnFacts& facts = own_facts();
  if (facts.process.load(std::memory_order_acquire) != ::getpid()) return std::nullopt;
  const std::string text = facts.stat.text();
  const std::size_t name_end = text.rfind(") ");  // the name before it may hold anything
  if (name_end == std::string::npos || text[name_end + 2] != 'Z') return std::nullopt;
  std::istringstream rest(text.substr(name_end + 2));
  std::vector<std::string> fields;
  for (std::string field; rest >> field;) fields.push_back(std::move(field));
  constexpr std::size_t kThreads = 17;
  constexpr std::size_t kExitCode = 49;
  if (fields.size() <= kExitCode) return std::nullopt;
  return EndedLeader{static_cast<int>(std::strtol(fields[kThreads].c_str(), nullptr, 10)) - 1,
                     static_cast<int>(std::strtol(fields[kExitCode].c_str(), nullptr, 10)) >> 8,
                     facts.status.text().find("\nSeccomp:\t1") != std::string::npos};
}

}  // namespace sonde
