// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Records, and counts what it has recorded where a kill leaves the count.
//
//   stress_counted PROGRESS PACE THREADS                       recorded from outside
//   stress_counted PROGRESS PACE THREADS OUTPUT POLICY BUDGET  records itself
//
// PROGRESS is a file of 64-bit numbers: how many threads are at work, then the turns that each has
// done. A turn is two scopes, four events. PACE is `flood`, or `paced`, which never fills the
// buffers, or a number of turns, after which each thread ends.

#include <fcntl.h>
#include <sonde/profiler.h>
#include <sonde/record.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using Count = std::atomic<std::uint64_t>;

Count* map_progress(const char* path) {
  constexpr std::size_t kBytes = 4096;
  const int fd = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct stat facts = {};
  if (fd < 0 || ::fstat(fd, &facts) != 0) return nullptr;
  // A program that may not write files was given an open one.
  if (facts.st_size < off_t{kBytes} && ::ftruncate(fd, kBytes) != 0) return nullptr;
  void* const mapped = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  return mapped == MAP_FAILED ? nullptr : static_cast<Count*>(mapped);
}

void work(Count& begun, Count& done, bool is_paced, std::uint64_t turns) {
  for (std::uint64_t i = 1; i <= turns; ++i) {
    {
      SONDE_SCOPE("work");
      SONDE_SCOPE("inner");
    }
    done.store(i, std::memory_order_relaxed);
    if (i == 1) begun.fetch_add(1);
    if (is_paced && i % 200 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
}

sonde::BufferPolicy policy_of(const std::string& name) {
  if (name == "ring") return sonde::BufferPolicy::Ring;
  return name == "drop" ? sonde::BufferPolicy::Drop : sonde::BufferPolicy::Spill;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 7) return 2;
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  Count* const progress = map_progress(argv[1]);
  if (progress == nullptr) return 3;
  const std::string pace = argv[2];
  const bool is_endless = pace == "flood" || pace == "paced";
  const std::uint64_t turns = is_endless ? ~std::uint64_t{0} : std::strtoull(argv[2], nullptr, 10);
  std::unique_ptr<sonde::Profiler> profiler;
  if (argc == 7) {
    sonde::ProfilerOptions options;
    options.output = argv[4];
    options.policy = policy_of(argv[5]);
    options.budget_bytes = std::strtoull(argv[6], nullptr, 10);
    profiler = std::make_unique<sonde::Profiler>(options);
    profiler->start();
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    threads.emplace_back(work, std::ref(progress[0]), std::ref(progress[i + 1]), pace == "paced",
                         turns);
  }
  for (std::thread& thread : threads) thread.join();
  if (profiler == nullptr) return 0;
  profiler->stop();
  return profiler->close() ? 0 : 4;
}
