#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/torch/with_pip_torch.sh BUILD: builds Sonde's adapter for the torch that python3 has, and compares what
# `sonde run` records of an unmodified program with what torch.profiler says about it. For machines whose torch did
# not come from Debian. BUILD is an unpacked tarball of Sonde or a build folder; where it has no program `sonde`,
# Sonde is built there, which needs cmake, ninja, zlib, zstd, fmt and CLI11.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${1:?name a build folder}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ ! -x $build/bin/sonde ]]; then
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSONDE_BUILD_TESTS=OFF \
    -DSONDE_BUILD_EXAMPLES=OFF -DSONDE_WITH_TORCH=OFF >/dev/null
  cmake --build "$build" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
fi
export XDG_CACHE_HOME=$work/cache
"$build/bin/sonde" torch build --python "$(command -v python3)"

devices=(cpu)
python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' && devices+=(cuda)
for device in "${devices[@]}"; do
  echo "== $device, torch $(python3 -c 'import torch; print(torch.__version__)')"
  "$build/bin/sonde" run --force --shapes --memory -o "$work/$device.sonde" -- \
    python3 "$root/tests/torch/train_both.py" "$work/torch.json" "$device"
  "$build/bin/sonde" export "$work/$device.sonde" -o "$work/sonde.json"
  python3 "$root/tests/torch/compare_both.py" "$work/torch.json" "$work/sonde.json"
  echo "== its execution trace"
  python3 "$root/tests/torch/check_et.py" "$build/bin/sonde" "$(command -v python3)" "$device"
done

echo "== stacks and modules"
"$build/bin/sonde" run --force --stack --modules -o "$work/stacks.sonde" -- \
  python3 "$root/tests/torch/train_both.py" "$work/torch.json" cpu
"$build/bin/sonde" table "$work/stacks.sonde" --group-by-stack 2 --row-limit 3

echo "== the cost of an operator"
python3 "$root/tests/torch/op_loop.py"
"$build/bin/sonde" run --force -o "$work/loop.sonde" -- python3 "$root/tests/torch/op_loop.py"
time "$build/bin/sonde" table "$work/loop.sonde" --row-limit 3 >/dev/null
python3 "$root/tests/torch/op_loop.py" torch

echo "== the cost of an operator in an execution trace"
"$build/bin/sonde" run --force --et="$work/loop.et.json" -o "$work/loop.sonde" -- python3 "$root/tests/torch/op_loop.py"
"$build/bin/sonde" run --force --et="$work/loop.et.json.gz" -o "$work/loop.sonde" -- python3 "$root/tests/torch/op_loop.py"
python3 "$root/tests/torch/op_loop.py" et "$work/theirs.et.json"
