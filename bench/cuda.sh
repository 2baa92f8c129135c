#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# bench/cuda.sh BUILD: what recording a GPU costs, on a machine that has one with the CUDA toolkit. Each row is a
# process of its own; the order is gone through three times.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${1:?name the build folder that holds bin/sonde}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cuda=${CUDA_HOME:-/usr/local/cuda}
nvcc -std=c++17 -arch=native -O2 -I"$cuda/extras/CUPTI/include" -o "$work/launches" "$root/bench/cuda_launches.cu" \
  -L"$cuda/extras/CUPTI/lib64" -lcupti -Xlinker -rpath="$cuda/extras/CUPTI/lib64"
for _ in 1 2 3 4 5; do
  "$work/launches" none
  "$work/launches" kineto
  "$work/launches" residue
  for level in lean linked full; do
    "$build/bin/sonde" run -q "--gpu=$level" -o "$work/trace.sonde" -- "$work/launches" none "sonde, $level"
  done
done
"$build/bin/sonde" info "$work/trace.sonde" | head -30
