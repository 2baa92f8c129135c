#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/cuda/reports_on_gpu.sh SONDE FOLDER [reports] [switches] [checks] [costs]: on a machine with a GPU, whose python3
# has torch. SONDE is a folder with bin/sonde; the recordings are left in FOLDER. All parts, or only those named:
#
#   reports    records the programs of everyday.py and prints their reports: about 2 minutes
#   switches   compares what reports promise with what mending gives (bench/gpu_switches.py): about 4 minutes
#   checks     of all recordings in FOLDER: no kernel is said to compute faster than the device can, and a replay with
#              nothing changed takes as long as was recorded, within 2 %
#   costs      compares what recordings say that they cost with what they cost (bench/stated_cost.py): about 4 minutes
#
# Exits with 1 if a check fails.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
sonde=$(realpath "${1:?name the folder of Sonde}")
mkdir -p "${2:?name a folder for the recordings}"
kept=$(realpath "$2")
shift 2
parts=" ${*:-reports switches checks costs} "
failed=0
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
export XDG_CACHE_HOME=$cache
"$sonde/bin/sonde" torch build --python "$(command -v python3)" || exit 1
if [[ $parts == *" reports "* ]]; then
  for program in $(python3 "$root/tests/cuda/everyday.py"); do
    echo "== $program"
    "$sonde/bin/sonde" run -q --force --gpu --shapes --memory -o "$kept/$program.sonde" -- \
      python3 "$root/tests/cuda/everyday.py" "$program" >"$cache/out" 2>&1 || tail -3 "$cache/out"
    "$sonde/bin/sonde" report "$kept/$program.sonde"
  done
fi
if [[ $parts == *" switches "* ]]; then
  echo "== promised and measured"
  rm -f "$kept"/switches/*.sonde
  mkdir -p "$kept/switches"
  python3 "$root/bench/switches.py" "$sonde/bin" 1 --gpu --keep "$kept/switches" || failed=1
fi
if [[ $parts == *" checks "* ]]; then
  echo "== rates of kernels against the peaks; replays with nothing changed"
  for file in "$kept"/*.sonde "$kept"/switches/*.sonde; do
    [[ -e $file ]] || continue
    "$sonde/bin/sonde" report "$file" --format json >"$cache/report.json" &&
      "$sonde/bin/sonde" whatif "$file" --remove 'no such name' --format json >"$cache/whatif.json" &&
      python3 - "$cache" "$(basename "$file")" <<'END' || failed=1
import json, pathlib, sys
folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
rows = json.loads((folder / "report.json").read_text())["kernel_limits"]
most = max((row["flop_permille_of_peak"] for row in rows), default=0)
replay = json.loads((folder / "whatif.json").read_text())
off = replay["simulated_ns"] / max(replay["recorded_ns"], 1) - 1
limits = ", ".join(f"{row['operator']} {row['limit']}" for row in rows[:3])
print(f"{name:<24} at most {most / 10:.1f} % of the peak, replay {100 * off:+.2f} %  {limits}")
sys.exit(most > 1050 or abs(off) > 0.02)
END
  done
fi
if [[ $parts == *" costs "* ]]; then
  echo "== stated and measured costs"
  python3 "$root/bench/stated_cost.py" "$sonde/bin/sonde" 1 --gpu || failed=1
fi
exit $failed
