// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/scheduling.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/own_process.h"
#include "collect/last_thread.h"

namespace sonde {
namespace {

constexpr std::size_t kMostThreads = 32;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// The cores that the program may use.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
}

std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// How long all threads except the calling one ran.
std::int64_t others_ran_ns() {
  return clock_ns(CLOCK_PROCESS_CPUTIME_ID) - clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace

// "RAN WAITED TIMES", in nanoseconds.
bool SchedulingWatch::read_thread(const char* name, Counters& counters) {
  constexpr char kFolder[] = "/proc/self/task/";
  constexpr char kFile[] = "/schedstat";
  char path[64];
  const std::size_t length = std::strlen(name);
  if (length + sizeof(kFolder) + sizeof(kFile) > sizeof(path)) return false;
  std::memcpy(path, kFolder, sizeof(kFolder) - 1);
  std::memcpy(path + sizeof(kFolder) - 1, name, length);
  std::memcpy(path + sizeof(kFolder) - 1 + length, kFile, sizeof(kFile));
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[96];
  const ssize_t size = ::read(fd, text, sizeof(text));
  ::close(fd);
  if (size <= 0) return false;
  const char* const end = text + size;
  const auto ran = std::from_chars(text, end, counters.ran_ns);
  if (ran.ec != std::errc() || ran.ptr == end) return false;
  return std::from_chars(ran.ptr + 1, end, counters.waited_ns).ec == std::errc();
}

void SchedulingWatch::look(std::int64_t now_ns) {
  if (is_in_sandbox()) return;
  if (process_ != ::getpid()) {
    *this = SchedulingWatch();
    process_ = ::getpid();
  }
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir("/proc/self/task"));
  if (folder == nullptr) return;
  std::unordered_map<std::int64_t, Counters> now;
  while (const dirent* const entry = ::readdir(folder.get())) {
    std::int64_t id = 0;
    const char* const name_end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, name_end, id).ec != std::errc() || is_own_thread(id))
      continue;
    Counters counters;
    if (!read_thread(entry->d_name, counters)) continue;
    now.emplace(id, counters);
    if (!has_looked_) continue;
    const auto before = threads_.find(id);
    // A new thread, even one that reuses the number of an ended thread, began after the last look.
    const bool is_known = before != threads_.end() && before->second.ran_ns <= counters.ran_ns &&
                          before->second.waited_ns <= counters.waited_ns;
    const std::int64_t ran_ns = counters.ran_ns - (is_known ? before->second.ran_ns : 0);
    const std::int64_t waited_ns = counters.waited_ns - (is_known ? before->second.waited_ns : 0);
    total_.ran_ns += ran_ns;
    total_.waited_ns += waited_ns;
    ProcessorShare::OfThread& thread = total_.threads[id];
    thread.ran_ns += ran_ns;
    thread.waited_ns += waited_ns;
  }
  if (now.empty()) return;
  threads_ = std::move(now);
  const std::int64_t process_ns = others_ran_ns();
  if (has_looked_) {
    total_.wall_ns += now_ns - last_ns_;
    total_.process_ns += process_ns - last_process_ns_;
  }
  last_ns_ = now_ns;
  last_process_ns_ = process_ns;
  has_looked_ = true;
}

ProcessorShare ProcessorShare::sum(const ProcessorShare& other, std::int64_t sign) const {
  ProcessorShare out = *this;
  out.wall_ns += sign * other.wall_ns;
  out.ran_ns += sign * other.ran_ns;
  out.waited_ns += sign * other.waited_ns;
  out.process_ns += sign * other.process_ns;
  for (const auto& [id, thread] : other.threads) {
    out.threads[id].ran_ns += sign * thread.ran_ns;
    out.threads[id].waited_ns += sign * thread.waited_ns;
  }
  return out;
}

std::string SchedulingWatch::json(const ProcessorShare& share) const {
  std::vector<std::pair<std::int64_t, ProcessorShare::OfThread>> all(share.threads.begin(),
                                                                     share.threads.end());
  // The first thread counts even if it only sleeps.
  const auto weight = [](const auto& one) {
    return one.first == ::getpid() ? INT64_MAX : one.second.ran_ns;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return weight(a) > weight(b); });
  if (all.size() > kMostThreads) all.resize(kMostThreads);
  std::string by_thread;
  for (const auto& [id, thread] : all)
    by_thread += (by_thread.empty() ? "\"" : ", \"") + std::to_string(id) + "\": [" +
                 std::to_string(thread.ran_ns) + ", " + std::to_string(thread.waited_ns) + "]";
  return "{\"cores\": " + std::to_string(usable_cores()) +
         ", \"wall_ns\": " + std::to_string(share.wall_ns) +
         ", \"ran_ns\": " + std::to_string(share.ran_ns) +
         ", \"waited_ns\": " + std::to_string(share.waited_ns) +
         ", \"process_ns\": " + std::to_string(share.process_ns) +
         ", \"threads\": " + std::to_string(threads_.size()) + ", \"by_thread\": {" + by_thread +
         "}}";
}

}  // namespace sonde
