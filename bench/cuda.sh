#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# bench/cuda.sh BUILD [SETS [TURNS [LAUNCHES]]]: what recording a GPU costs a launch, and an operator of torch if there
# is one. Needs a machine with a GPU and the CUDA toolkit. A set is a fresh process for each mode, all alive at once; a
# turn asks each of them on every core. With 0 turns one process runs at a time, once on every core. LAUNCHES is the number
# per round, 400 by default; with long rounds (100000) only launches are measured, on one core per set.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${1:?name the build folder that holds bin/sonde}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cuda=${CUDA_HOME:-/usr/local/cuda}
nvcc -std=c++17 -arch=native -O2 -I"$cuda/extras/CUPTI/include" -o "$work/launches" "$root/bench/cuda_launches.cu" \
  -L"$cuda/extras/CUPTI/lib64" -lcupti -Xlinker -rpath="$cuda/extras/CUPTI/lib64"
if [[ ${4:-400} -le 1000 ]] && python3 -c "import torch" 2>/dev/null; then
  export XDG_CACHE_HOME=$work/cache
  "$build/bin/sonde" torch build --python "$(command -v python3)"
fi
python3 "$root/bench/cuda_turns.py" "$work/launches" "$build/bin/sonde" "$work" "${2:-5}" "${3:-8}" "${4:-400}"
for trace in linked stopped operators-linked; do
  if [[ -e $work/$trace.sonde ]]; then "$build/bin/sonde" info "$work/$trace.sonde" | head -24; fi
done
