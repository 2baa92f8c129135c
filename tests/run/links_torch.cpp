// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linked to the fake libtorch, with operators before and in main().

#include "fake_torch.h"

namespace {

struct Early {
  Early() { fake_torch_run(10); }
};
const Early early;

}  // namespace

int main() {
  fake_torch_run(90);
  return fake_torch_observed_in_time() == 0 ? 5 : 0;
}
