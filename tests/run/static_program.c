/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program that no library can be put into. */

int main(void) {
  return 5;
}
