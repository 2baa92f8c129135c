# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds for AArch64 on another machine, with Debian's cross compiler; tests run under qemu. tools/aarch64 uses it.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
find_program(SONDE_QEMU_AARCH64 qemu-aarch64)
if(SONDE_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${SONDE_QEMU_AARCH64})
endif()
