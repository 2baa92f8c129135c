#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/cuda/findings_on_gpu.sh BUILD [FOLDER]: records programs with one fault each, and one without, on a machine with a
# GPU, and compares the first finding of `sonde report` with the fault. The recordings and reports are left in FOLDER.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${1:?name a build folder}
kept=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
sonde=$build/bin/sonde
failed=0
"$sonde" torch build --python "$(command -v python3)" || exit 1

declare -A wanted=([launches]=launch_bound [outside]=host_bound [waits]=stalling_synchronisation
                   [pageable]=pageable_copies [clean]=none)
for mode in launches outside waits pageable clean; do
  "$sonde" run --force -q --gpu --shapes --signal-start USR1 --signal-stop USR2 -o "$work/$mode.sonde" -- \
    python3 "$root/tests/cuda/findings.py" "$mode" || failed=1
  "$sonde" report "$work/$mode.sonde" -o "$work/$mode.html" || failed=1
  "$sonde" report "$work/$mode.sonde" -o "$work/$mode.json" || failed=1
  echo "== $mode"
  "$sonde" report "$work/$mode.sonde" | sed -n 1,40p
  python3 - "$work/$mode.json" "${wanted[$mode]}" "${wanted[@]}" <<'END' || failed=1
import json, sys
report, wanted, faults = json.load(open(sys.argv[1])), sys.argv[2], set(sys.argv[3:])
found = [finding["id"] for finding in report["findings"]]
right = not faults & set(found) if wanted == "none" else found[:1] == [wanted]
print("ok" if right else "WRONG", "wanted", wanted, "first", "found", found)
sys.exit(not right)
END
done
if [[ -n $kept ]]; then cp "$work"/{waits,clean}.sonde "$work"/{launches,waits,pageable,clean}.html "$kept/"; fi
exit "$failed"
