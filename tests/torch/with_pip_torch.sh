#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/torch/with_pip_torch.sh BUILD: builds Sonde and its adapter for the torch that python3 has, and compares what
# `sonde run` records of an unmodified program with what torch.profiler says of it. For machines whose torch did
# not come from Debian; it needs cmake, ninja, g++, zlib, zstd, fmt and CLI11.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${1:?name a build folder}
torch=$(python3 -c 'import torch; print(torch.__path__[0])')
abi=$(python3 -c 'import torch; print(int(torch._C._GLIBCXX_USE_CXX11_ABI))')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSONDE_BUILD_TESTS=OFF \
  -DSONDE_BUILD_EXAMPLES=OFF -DSONDE_WITH_TORCH=OFF >/dev/null
cmake --build "$build" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
g++ -std=c++17 -O2 -DNDEBUG -D_GLIBCXX_USE_CXX11_ABI="$abi" -fPIC -shared -I"$root/include" -I"$root/src" \
  -isystem "$torch/include" -isystem "$torch/include/torch/csrc/api/include" "$root"/src/collect/torch/*.cpp \
  -o "$build/lib/libsonde_torch.so" -L"$build/lib" -lsonde -lsonde_record -L"$torch/lib" -ltorch_cpu -lc10 \
  -Wl,-rpath,"\$ORIGIN" -Wl,-rpath,"$torch/lib"

devices=(cpu)
python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' && devices+=(cuda)
for device in "${devices[@]}"; do
  echo "== $device, torch $(python3 -c 'import torch; print(torch.__version__)')"
  "$build/bin/sonde" run --shapes -o "$work/$device.sonde" -- \
    python3 "$root/tests/torch/train_both.py" "$work/torch.json" "$device"
  "$build/bin/sonde" export "$work/$device.sonde" -o "$work/sonde.json"
  python3 "$root/tests/torch/compare_both.py" "$work/torch.json" "$work/sonde.json"
done
