// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an adapter does, for the stand-in: a source that records operators.

#include <sonde/sonde.h>
#include <sonde/source.h>

#include <memory>

#include "fake_torch.h"

namespace {

sonde_site operator_site = {"fake::op", "", "", 0, 0};
thread_local bool begun = false;

void record(int begins) {
  if (begins != 0) begun = sonde_begin(&operator_site) != 0;
  if (begins == 0 && begun) sonde_end();
}

class FakeTorchSource : public sonde::Source {
 public:
  std::string name() const override { return "fake torch"; }
  sonde::Activity activity() const override { return sonde::Activity::Cpu; }
  sonde::Result<void> prepare(const sonde::SourceRequest&) override { return {}; }
  void start() override { fake_torch_observe(record); }
  void stop() override { fake_torch_observe(nullptr); }
};

}  // namespace

extern "C" int sonde_adapter_attach(void) {
  sonde::add_source(std::make_shared<FakeTorchSource>());
  return 0;
}
