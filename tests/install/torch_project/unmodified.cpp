// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ATen/ATen.h>

int main() {
  return at::ones({2, 3}).mul(2).sum().item<double>() == 12 ? 0 : 1;
}
