// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bench_short_floor: what any crash-safe recorder costs a short process: the least that one could
// do, by hand and without checks. Driven by short_processes.py.
//
//   bench_short_floor             nothing
//   bench_short_floor threads     two threads, which wait until the process ends
//   bench_short_floor files       a file of buffers, with room on the disk, mapped, used and removed;
//                                 and a small file that stays, under a name that was free

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>

namespace {

constexpr off_t kReserved = 64 << 20;
constexpr std::size_t kUsed = 128 << 10;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  ::_exit(1);
}

int create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) fail(path.c_str());
  return fd;
}

void use_files() {
  static char zeros[kUsed];
  const std::string kept = std::to_string(::getpid()) + ".kept";
  const std::string begun = kept + ".new";
  const int file = create(begun);
  if (::write(file, zeros, 64) != 64 || ::link(begun.c_str(), kept.c_str()) != 0) fail("link");
  ::unlink(begun.c_str());
  const std::string live = kept + ".live";
  const int fd = create(live);
  if (::fallocate(fd, 0, 0, kReserved) != 0) fail("fallocate");
  void* const mapped = ::mmap(nullptr, kReserved, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) fail("mmap");
  ::madvise(mapped, kReserved, MADV_RANDOM);
  if (::pwrite(fd, zeros, sizeof(zeros), 0) < 0) fail("pwrite");
  std::memset(mapped, 1, kUsed / 4);
  for (int i = 0; i < 20; ++i) {
    if (::pwrite(file, mapped, 100, 100 * i) < 0) fail("pwrite");
  }
  ::munmap(mapped, kReserved);
  ::unlink(live.c_str());
  ::close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "threads") {
    for (int i = 0; i < 2; ++i) std::thread([] { ::pause(); }).detach();
  } else if (what == "files") {
    use_files();
  } else if (!what.empty()) {
    std::cerr << "bench_short_floor [threads | files]\n";
    return 2;
  }
  std::cout.flush();
  ::_exit(0);
}
