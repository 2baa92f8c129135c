#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/cuda/on_gpu.sh BUILD [FOLDER]: records real CUDA programs on a machine with a GPU, the CUDA toolkit and a torch
# for it, and compares the traces with what the programs did and with torch.profiler's. Recordings that other
# tests need are left in FOLDER.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${1:?name a build folder}
kept=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cuda=${CUDA_HOME:-/usr/local/cuda}
failed=0
sonde=$build/bin/sonde

g++ -std=c++20 -I"$root/src" -I"$root/include" -I"$cuda/extras/CUPTI/include" -I"$cuda/include" -fsyntax-only \
  "$root/tests/cuda/check_layout.cpp" || failed=1
nvcc -std=c++17 -arch=native -O2 -o "$work/launches" "$root/tests/cuda/launches.cu" || exit 1
for level in linked full lean; do
  echo "== a CUDA program without torch, $level"
  "$sonde" run --force "--gpu=$level" --memory -o "$work/launches.sonde" -- "$work/launches" 1000 >"$work/counts.json" || failed=1
  "$sonde" export "$work/launches.sonde" -o "$work/launches.json" || failed=1
  python3 "$root/tests/cuda/check_launches.py" "$level" "$work/counts.json" "$work/launches.json" || failed=1
done
for level in linked full; do
  echo "== its calls as CUPTI records them, $level"
  SONDE_CUDA_LOG_CALLS=$work/calls "$sonde" run --force -q "--gpu=$level" -o "$work/launches.sonde" -- "$work/launches" 200 \
    >"$work/counts.json" || failed=1
  "$sonde" export "$work/launches.sonde" -o "$work/launches.json" || failed=1
  python3 "$root/tests/cuda/check_links.py" "$work/calls" "$work/launches.json" || failed=1
done
echo "== one that is killed"
"$sonde" run --force -q --gpu -o "$work/killed.sonde" -- "$work/launches" 1000000 >/dev/null 2>&1 &
recording=$!
sleep 5
kill -KILL "$(pgrep -P "$recording" -x launches)"
wait "$recording"
"$sonde" export "$work/killed.sonde" -o "$work/killed.json" || failed=1
python3 "$root/tests/cuda/check_killed.py" "$work/killed.json" || failed=1
SONDE_CUDA_KEEP_BUFFERS=$work/launches.cupti "$sonde" run --force -q --gpu=full --memory -o "$work/small.sonde" -- "$work/launches" 3 \
  >"$work/small.json"

echo "== torch $(python3 -c 'import torch; print(torch.__version__)')"
export XDG_CACHE_HOME=$work/cache
"$sonde" torch build --python "$(command -v python3)" || failed=1
python3 "$root/tests/cuda/train.py" --times "$work/plain.times"
python3 "$root/tests/cuda/train.py" --torch "$work/torch.json" --times "$work/torch.times"
SONDE_CUDA_KEEP_BUFFERS=$work/train.cupti "$sonde" run --force --gpu=full -o "$work/train.sonde" -- \
  python3 "$root/tests/cuda/train.py" --times "$work/sonde.times" || failed=1
"$sonde" info "$work/train.sonde" | sed -n 1,40p
"$sonde" export "$work/train.sonde" -o "$work/train.json" || failed=1
python3 "$root/tests/cuda/compare_traces.py" "$work/torch.json" "$work/train.json" || failed=1
python3 "$root/tests/export/check_trace_rules.py" "$work/train.json" || failed=1
"$sonde" table "$work/train.sonde" --sort-by device_time_total --row-limit 8 --max-name-width 50
echo "== however it ends"
for how in return _exit abort interrupt fork fork-later term; do
  rm -f "$work"/end*.sonde
  "$sonde" run --force -q --gpu -o "$work/end.sonde" -- python3 "$root/tests/cuda/ends.py" "$how" 2>/dev/null
  for file in "$work"/end*.sonde; do "$sonde" export "$file" -o "$file.json" || failed=1; done
  python3 "$root/tests/cuda/check_ends.py" "$how" "$work"/end*.sonde.json || failed=1
  rm -f "$work"/end*
done
echo "== four ranks that share the GPU"
ranks=(python3 -m torch.distributed.run --nproc-per-node 4 "$root/tests/cuda/ranks.py")
OMP_NUM_THREADS=1 "${ranks[@]}" --torch "$work" || failed=1
OMP_NUM_THREADS=1 "$sonde" run --force --gpu=full -o "$work/rank{rank}.sonde" -- "${ranks[@]}" || failed=1
for rank in 0 1 2 3; do
  "$sonde" export "$work/rank$rank.sonde" -o "$work/rank$rank.json" || failed=1
  python3 "$root/tests/cuda/compare_traces.py" "$work/torch$rank.json" "$work/rank$rank.json" || failed=1
done
echo "== collectives of NCCL"
python3 "$root/tests/cuda/collectives.py" --torch "$work/torch_nccl.json" || failed=1
"$sonde" run --gpu=full -o "$work/nccl.sonde" -- python3 "$root/tests/cuda/collectives.py" || failed=1
"$sonde" export "$work/nccl.sonde" -o "$work/nccl.json" || failed=1
python3 "$root/tests/cuda/compare_collectives.py" "$work/torch_nccl.json" "$work/nccl.json" || failed=1
echo "== operators behind the work, as external correlation has them"
g++ -std=c++20 -shared -fPIC -I"$root/src" -o "$work/libtag_ranges.so" "$root/tests/cuda/tag_ranges.cpp" -ldl || failed=1
for level in linked full; do
  NVTX_INJECTION64_PATH=$work/libtag_ranges.so TAG_RANGES_FILE=$work/tags SONDE_CUDA_LOG_CALLS=$work/calls \
    "$sonde" run --force -q "--gpu=$level" -o "$work/tagged.sonde" -- python3 "$root/tests/cuda/train.py" --nvtx || failed=1
  "$sonde" export "$work/tagged.sonde" -o "$work/tagged.json" || failed=1
  python3 "$root/tests/cuda/check_links.py" "$work/calls" "$work/tagged.json" "$work/tags" || failed=1
done
echo "== told to another tool: cuda::profiler, emit_nvtx"
nvcc -std=c++17 -arch=native -cudart shared -I"$root/include" -o "$work/control" "$root/tests/cuda/control.cu" \
  -L"$build/lib" -lsonde -lsonde_record -Xlinker -rpath="$build/lib" || failed=1
profiled() { # OPTIONS...: names of the kernels that Nsight Compute then looks at
  ncu --section LaunchStats "$@" "$work/control" 2>&1 | sed -nE 's/^ +([a-z_]+)\(\).*Context.*/\1/p' | sort | uniq -c | xargs
}
if command -v ncu >/dev/null; then
  for expected in "2 in_window:--profile-from-start off" "3 in_scope:--nvtx --nvtx-include told/"; do
    read -ra options <<<"${expected#*:}"
    found=$(profiled "${options[@]}")
    if [[ $found == "${expected%%:*}" ]]; then echo "ok   ${expected#*:}: $found"; else
      echo "DIFF ${expected#*:}: '$found', not '${expected%%:*}'" && failed=1
    fi
  done
else
  echo "     there is no ncu"
fi
for _ in 1 2 3; do
  python3 "$root/tests/cuda/train.py" --steps 200 --times "$work/plain.times"
  python3 "$root/tests/cuda/train.py" --steps 200 --times "$work/torch.times" --torch "$work/long.json"
  "$sonde" run --force -q --gpu -o "$work/long.sonde" -- python3 "$root/tests/cuda/train.py" --steps 200 \
    --times "$work/sonde.times"
  for run in plain torch sonde; do echo "$run: $(cat "$work/$run.times")"; done
done
echo "== who captured what a graph runs"
"$sonde" dump "$work/train.sonde" 2>/dev/null | grep -m1 captured_by
grep -o '"captured by correlation": [0-9]*' "$work/train.json" | head -3
"$sonde" export "$work/train.json" -o "$work/again.json" && cmp <(grep -c '"captured by correlation"' "$work/train.json") \
  <(grep -c '"captured by correlation"' "$work/again.json") || failed=1
grep -E '"(cupti|cuda_runtime|cuda_driver)_version"' "$work/train.json" || failed=1
if [[ -n $kept ]]; then
  cp "$work"/*.cupti "$work/small.json" "$work/small.sonde" "$work/train.sonde" "$kept/"
  gzip -c "$work/torch.json" >"$kept/torch.json.gz"
  gzip -c "$work/train.json" >"$kept/train.json.gz"
fi
exit "$failed"
