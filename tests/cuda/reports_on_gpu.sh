#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/cuda/reports_on_gpu.sh SONDE FOLDER: on a machine with a GPU, whose python3 has torch, records the programs of
# everyday.py and those of bench/gpu_switches.py, prints the reports of the former, and compares what reports promise
# with what mending gives. SONDE is a folder with bin/sonde. The recordings are left in FOLDER. About 6 minutes.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
sonde=$(realpath "${1:?name the folder of Sonde}")
mkdir -p "${2:?name a folder for the recordings}"
kept=$(realpath "$2")
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
export XDG_CACHE_HOME=$cache
"$sonde/bin/sonde" torch build --python "$(command -v python3)" || exit 1
for program in $(python3 "$root/tests/cuda/everyday.py"); do
  echo "== $program"
  "$sonde/bin/sonde" run -q --gpu --shapes --memory -o "$kept/$program.sonde" -- \
    python3 "$root/tests/cuda/everyday.py" "$program" >"$cache/out" 2>&1 || tail -3 "$cache/out"
  "$sonde/bin/sonde" report "$kept/$program.sonde"
done
echo "== promised and measured"
python3 "$root/bench/switches.py" "$sonde/bin" 1 --gpu --keep "$kept"
