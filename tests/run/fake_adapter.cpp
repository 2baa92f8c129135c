// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fake adapter: a source that records operators. It is built for the old ABI of the C++ library,
// as some torches are: nothing between it and Sonde may depend on the ABI.

#include <sonde/sonde.h>
#include <sonde/source/op.h>
#include <sonde/source/plugin.h>

#include "collect/torch/memory_hooks.h"
#include "fake_torch.h"

namespace {

sonde_site operator_site = {"fake::op", "", "", 0, 0};
thread_local bool begun = false;

void record(int begins) {
  if (begins != 0 && sonde_is_recording() == 0) sonde_op_missed();
  if (begins != 0) begun = sonde_begin(&operator_site) != 0;
  if (begins == 0 && begun) sonde_end();
}

void record_memory(void* address, std::int64_t bytes, std::size_t /*allocated*/,
                   std::size_t /*reserved*/, sonde::torch::MemoryDevice /*device*/, bool failed) {
  sonde_allocation allocation = {};
  allocation.size = sizeof(allocation);
  allocation.address = reinterpret_cast<std::uintptr_t>(address);
  allocation.bytes = bytes;
  allocation.flags = failed ? 1 : 0;
  sonde_allocated(&allocation);
}

bool wants_memory = false;

int prepare(void* /*self*/, const sonde_request* request, char* /*why*/, std::size_t /*bytes*/) {
  wants_memory = request->profile_memory != 0;
  return 0;
}
void start(void* /*self*/) {
  fake_torch_observe(record);
  sonde_memory_report = wants_memory ? &record_memory : nullptr;
}
void stop(void* /*self*/) {
  fake_torch_observe(nullptr);
  sonde_memory_report = nullptr;
}

const sonde_plugin kPlugin = {
    sizeof(kPlugin), SONDE_ACTIVITY_CPU, "fake torch", nullptr, prepare, start, stop, nullptr};

}  // namespace

extern "C" int sonde_adapter_attach(void) {
  return sonde_add_plugin(&kPlugin);
}
