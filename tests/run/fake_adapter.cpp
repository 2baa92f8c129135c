// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an adapter does, for the stand-in: a source that records operators.

#include <sonde/op.h>
#include <sonde/sonde.h>
#include <sonde/source.h>

#include <memory>

#include "collect/torch/memory_hooks.h"
#include "fake_torch.h"

namespace {

sonde_site operator_site = {"fake::op", "", "", 0, 0};
thread_local bool begun = false;

void record(int begins) {
  if (begins != 0) begun = sonde_begin(&operator_site) != 0;
  if (begins == 0 && begun) sonde_end();
}

void record_memory(void* address, std::int64_t bytes, std::size_t /*allocated*/,
                   std::size_t /*reserved*/, sonde::torch::MemoryDevice /*device*/, bool failed) {
  sonde_allocation allocation = {};
  allocation.address = reinterpret_cast<std::uintptr_t>(address);
  allocation.bytes = bytes;
  allocation.flags = failed ? 1 : 0;
  sonde_allocated(&allocation);
}

class FakeTorchSource : public sonde::Source {
 public:
  std::string name() const override { return "fake torch"; }
  sonde::Activity activity() const override { return sonde::Activity::Cpu; }
  sonde::Result<void> prepare(const sonde::SourceRequest& request) override {
    memory_ = request.profile_memory;
    return {};
  }
  void start() override {
    fake_torch_observe(record);
    sonde_memory_report = memory_ ? &record_memory : nullptr;
  }
  void stop() override {
    fake_torch_observe(nullptr);
    sonde_memory_report = nullptr;
  }

 private:
  bool memory_ = false;
};

}  // namespace

extern "C" int sonde_adapter_attach(void) {
  sonde::add_source(std::make_shared<FakeTorchSource>());
  return 0;
}
