#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# bench/cuda.sh BUILD [TURNS]: what recording a GPU costs, on a machine that has one with the CUDA toolkit. Each mode is
# a process of its own; all are gone through in turn, ten times if nothing else is said.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${1:?name the build folder that holds bin/sonde}
turns=${2:-10}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cuda=${CUDA_HOME:-/usr/local/cuda}
nvcc -std=c++17 -arch=native -O2 -I"$cuda/extras/CUPTI/include" -o "$work/launches" "$root/bench/cuda_launches.cu" \
  -L"$cuda/extras/CUPTI/lib64" -lcupti -Xlinker -rpath="$cuda/extras/CUPTI/lib64"
for _ in $(seq "$turns"); do
  for mode in none kernel kineto residue; do "$work/launches" "$mode"; done
  for level in lean linked full; do
    "$build/bin/sonde" run -q "--gpu=$level" -o "$work/trace.sonde" -- "$work/launches" none "sonde,$level"
  done
done >"$work/rows"
python3 "$root/bench/cuda_rows.py" "$work/rows"
"$build/bin/sonde" info "$work/trace.sonde" | head -30
