#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail
cmake -S . -B build/conda -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib \
  -DCMAKE_PREFIX_PATH="$PREFIX" -DSONDE_UNITY=ON -DSONDE_BUILD_TESTS=OFF -DSONDE_BUILD_EXAMPLES=OFF -DSONDE_BUILD_BENCH=OFF \
  -DSONDE_WITH_TORCH=OFF -DSONDE_WARNINGS_AS_ERRORS=OFF
cmake --build build/conda -j "${CPU_COUNT:-2}"
cmake --install build/conda
