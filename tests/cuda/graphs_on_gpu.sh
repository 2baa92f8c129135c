#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/cuda/graphs_on_gpu.sh BUILD [FOLDER]: records programs that torch captured as graphs with torch.profiler and with
# `sonde run --gpu`, and compares the device work of both and what `sonde graphs` says about it. The recordings are left in
# FOLDER.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${1:?name a build folder}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kept=${2:-$work}
failed=0
sonde=$build/bin/sonde
export XDG_CACHE_HOME=$work/cache
"$sonde" torch build --python "$(command -v python3)" || exit 1
for mode in compile graphs script; do
  echo "== $mode"
  python3 "$root/tests/cuda/compiled.py" "$mode" --torch "$kept/$mode.torch.json.gz" || failed=1
  "$sonde" run --force -q --gpu=full --shapes --no-follow-children --signal-start USR1 --signal-stop USR2 -o "$kept/$mode.sonde" -- \
    python3 "$root/tests/cuda/compiled.py" "$mode" || failed=1
  "$sonde" export "$kept/$mode.sonde" -o "$work/$mode.json" || failed=1
  python3 "$root/tests/cuda/compare_traces.py" "$kept/$mode.torch.json.gz" "$work/$mode.json" || failed=1
  "$sonde" graphs "$kept/$mode.sonde"
  for trace in "$mode.torch.json.gz" "$mode.sonde"; do
    "$sonde" graphs "$kept/$trace" --format json >"$work/$trace.graphs" || failed=1
  done
  python3 "$root/tests/cuda/compare_graphs.py" "$work/$mode.torch.json.gz.graphs" "$work/$mode.sonde.graphs" || failed=1
done
exit "$failed"
