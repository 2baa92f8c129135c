// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads and their stacks, memory, and libraries.

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "awkward.h"

namespace awkward {
namespace {

int many_threads() {
  for (int round = 0; round < 4; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 64; ++i) threads.emplace_back([] { work(10); });
    for (std::thread& thread : threads) thread.join();
  }
  say("joined");
  return 0;
}

int small_stacks(std::size_t bytes) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  if (::pthread_attr_setstacksize(&attributes, bytes) != 0) return 98;
  for (int i = 0; i < 50; ++i) {
    pthread_t thread;
    const auto body = [](void*) -> void* {
      work(10);
      static thread_local int made = 0;
      sonde_mark("at run time", 11);
      return &made;
    };
    if (::pthread_create(&thread, &attributes, body, nullptr) != 0) return 97;
    ::pthread_join(thread, nullptr);
  }
  say("joined");
  return 0;
}

struct RecordsAtTheEnd {
  ~RecordsAtTheEnd() { work(5); }
};

int late_destructors() {
  for (int i = 0; i < 20; ++i) {
    std::thread([] {
      static thread_local RecordsAtTheEnd last;
      static_cast<void>(last);
      work(5);
    }).join();
  }
  return 0;
}

int cancel_threads() {
  for (int i = 0; i < 20; ++i) {
    std::thread thread([] {
      for (;;) {
        work(100);
        ::pthread_testcancel();
      }
    });
    ::pthread_cancel(thread.native_handle());
    thread.join();
  }
  say("cancelled");
  return 0;
}

int nest_deeply(int depth) {
  if (depth == 0) return 0;
  SONDE_SCOPE("deep");
  return nest_deeply(depth - 1);
}

int rename_threads() {
  for (const char* const name : {"one", "two", "three"}) {
    std::thread([name] {
      ::pthread_setname_np(::pthread_self(), name);
      work(10);
      char now[16] = {};
      ::pthread_getname_np(::pthread_self(), now, sizeof(now));
      say(now);
    }).join();
  }
  return 0;
}

int with_limit(int resource, rlim_t most) {
  const rlimit limit = {most, most};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
  work(100000);
  std::vector<std::string> texts(100, std::string(1000, 'x'));
  say(std::to_string(texts.size()));
  return 5;
}

int run_out_of_memory() {
  const rlimit limit = {std::uint64_t{1} << 30, std::uint64_t{1} << 30};
  ::setrlimit(RLIMIT_AS, &limit);
  std::vector<void*> blocks;
  while (void* block = std::malloc(1 << 20)) blocks.push_back(block);
  work(100000);
  for (void* block : blocks) std::free(block);
  say("ran out");
  return 0;
}

int lock_all_memory() {
  say(::mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? "locked" : "not locked");
  work(100000);
  return 0;
}

int open_libraries() {
  for (const char* const name : {"libm.so.6", "libz.so.1", "libnothing.so"}) {
    void* const library = ::dlopen(name, RTLD_NOW);
    say(library != nullptr ? "opened" : "not found");
    if (library != nullptr) ::dlclose(library);
  }
  return 0;
}

int name_everything(int count) {
  for (int i = 0; i < count; ++i) {
    const std::string name = "name " + std::to_string(i);
    sonde_mark(name.data(), name.size());
  }
  return 0;
}

const Add added{
    {"many_threads", many_threads},
    {"stack_thread_16", [] { return small_stacks(16384); }},
    {"stack_thread_20", [] { return small_stacks(20480); }},
    {"stack_thread_32", [] { return small_stacks(32768); }},
    {"stack_thread_64", [] { return small_stacks(65536); }},
    {"late_destructors", late_destructors},
    {"cancel_threads", cancel_threads},
    {"nest_deeply", [] { return nest_deeply(10000); }},
    {"rename_threads", rename_threads},
    {"limit_files", [] { return with_limit(RLIMIT_NOFILE, 8); }},
    {"limit_processes", [] { return with_limit(RLIMIT_NPROC, 0); }},
    {"limit_file_size", [] { return with_limit(RLIMIT_FSIZE, 0); }},
    {"limit_data", [] { return with_limit(RLIMIT_DATA, std::uint64_t{64} << 20); }},
    {"limit_address_space", [] { return with_limit(RLIMIT_AS, std::uint64_t{1} << 30); }},
    {"run_out_of_memory", run_out_of_memory},
    {"lock_all_memory", lock_all_memory},
    {"open_libraries", open_libraries},
    {"name_everything", [] { return name_everything(20'000); }},
    {"name_millions", [] { return name_everything(4'000'000); }},
};

}  // namespace
}  // namespace awkward
