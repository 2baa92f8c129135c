// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scopes, shown to the tools that the environment names:
//
//   ranges_emits nvtx|itt     scopes before, during and after emit_nvtx or emit_itt
//   ranges_emits calls        the functions of sonde::nvtx and sonde::itt
//   ranges_emits probes FILE  scopes until FILE appears

#include <sonde/profile/ranges.h>
#include <sonde/record.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

namespace {

template <typename Emit>
int emit_scopes() {
  {
    SONDE_SCOPE("before");
  }
  bool is_heard = false;
  {
    const Emit emit;
    is_heard = emit.is_heard();
    SONDE_SCOPE("outer");
    std::thread([] { SONDE_SCOPE("elsewhere"); }).join();
    const sonde::record_function step("step " + std::to_string(3));
    SONDE_INSTANT("moment");
    const Emit nested;
    const Emit disabled(false);
    if (disabled.is_heard()) return 3;
  }
  {
    SONDE_SCOPE("after");
  }
  return is_heard ? 0 : 2;
}

void call_all() {
  std::printf("%d %d\n", sonde::nvtx::is_available(), sonde::itt::is_available());
  const int first = sonde::nvtx::range_push("first");
  const int second = sonde::nvtx::range_push("second");
  std::printf("%d %d\n", first, second);
  std::printf("%d\n", sonde::nvtx::range_pop());
  std::printf("%d\n", sonde::nvtx::range_pop());
  sonde::nvtx::range_end(sonde::nvtx::range_start("started"));
  sonde::nvtx::mark("marked");
  {
    const sonde::nvtx::range range("in a block");
  }
  {
    const sonde::itt::range range("task");
  }
  sonde::itt::mark("moment");
}

void scopes_until(const char* file) {
  while (::access(file, F_OK) != 0) {
    SONDE_SCOPE("probed");
    ::usleep(1000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "nvtx") return emit_scopes<sonde::emit_nvtx>();
  if (what == "itt") return emit_scopes<sonde::emit_itt>();
  if (what == "calls") call_all();
  if (what == "probes" && argc > 2) scopes_until(argv[2]);
  return 0;
}
