#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/python/on_gpu.sh SONDE FOLDER: uses the package for Python with the torch that python3 has, on a machine with a GPU
# and no network. SONDE is a tarball of `tools/package tarball`, or the folder that it was unpacked to; its package gets the Python
# files of this tree. What is printed goes to FOLDER/python.txt as well, traces go to FOLDER/python.tar.gz. Every part runs whatever
# became of the others. About three minutes; also runs without a GPU, with less to see.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$root/tests/python
sonde=${1:?name the tarball of Sonde, or the folder that it was unpacked to}
out=$(mkdir -p "${2:?name a folder for the output}" && cd "$2" && pwd)
python=${PYTHON:-$(command -v python3)}
work=$(mktemp -d)
given=
cleanup() {
  [[ -z $given ]] || rm -f "$given"
  rm -rf "$work"
}
trap cleanup EXIT
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$work/cache} PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 TORCHINDUCTOR_CACHE_DIR=$work/inductor
exec > >(tee "$out/python.txt") 2>&1
failed=()

# part NAME SECONDS COMMAND…: in the background, with its output in a file.
names=()
part() {
  names+=("$1")
  (begin=$SECONDS; timeout "$2" bash -uc '"$@"' part "${@:3}"; rc=$?; echo "-- exit status $rc, $((SECONDS - begin)) s"; exit "$rc") >"$work/$1.log" 2>&1 &
  pids[${#names[@]} - 1]=$!
}
# Waits for the parts and prints what they printed.
pids=()
finish() {
  local at
  for at in "${!names[@]}"; do
    wait "${pids[$at]}" || failed+=("${names[$at]}")
    printf '\n== %s\n' "${names[$at]}"
    tail -c 60000 "$work/${names[$at]}.log"
  done
  names=() pids=()
}

if [[ -f $sonde ]]; then
  mkdir "$work/unpacked" && tar -C "$work/unpacked" -xzf "$sonde" || exit 1
  sonde=$(echo "$work"/unpacked/*/bin/sonde)
else
  sonde=$(cd "$sonde" && pwd)/bin/sonde
fi
prefix=${sonde%/bin/sonde}
package=$(echo "$prefix"/lib/python3*/*-packages)
# Files of the tree need the module that goes with them.
if grep -q "with_native_stack, acc_events" "$package/sonde/_native.abi3.so"; then cp -r "$root/python/sonde/." "$package/sonde/"; else echo "the package is used as it is: Sonde is older than this tree"; fi
device=$("$python" -c 'import torch; print("cuda" if torch.cuda.is_available() else "cpu")')
echo "== $("$sonde" --version), $("$python" -c 'import sys, torch; print("Python", sys.version.split()[0], "torch", torch.__version__)'), $device"

echo "== sonde torch build --python"
given=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib") + "/sonde.pth")')
rm -f "$given"  # of another Sonde
timeout 200 "$sonde" torch build --python "$python" || failed+=(torch_build)
[[ -f $given ]] || given=
found=$(cd / && "$python" -c 'import sonde; print(sonde.__file__)')
echo "import sonde: ${found:-failed}"
[[ $found == "$package"/* ]] || { failed+=(import_sonde); export PYTHONPATH=$package; }
"$sonde" doctor 2>&1 | tail -n 40

# shellcheck disable=SC2089
hello='
import sys, torch
from sonde.profiler import profile
x = torch.ones(64, 64, device=sys.argv[1])
x @ x
with profile() as prof:
    (x @ x).sum().item()
print(prof.key_averages().table(row_limit=6))
names = {event.name for event in prof.events()}
assert "aten::mm" in names and (sys.argv[1] == "cpu" or any(event.activity_type == "kernel" for event in prof.events())), names
'
echo "== a first profile"
timeout 60 "$python" -c "$hello" "$device" || failed+=(first_profile)

# A wheel of the same files.
"$python" "$root/tools/make_wheel.py" "$prefix" "$("$sonde" --version | grep -o '[0-9][0-9.]*')" "$work"
wheel=$(echo "$work"/sonde-*.whl)

# torch and what else this Python has, but no package sonde of it.
add_packages() {
  "$python" -c 'import sys; print(*(f for f in sys.path if f.endswith("-packages") and "sonde" not in f), sep="\n")' >"$1/others.pth"
}
wheel_part() {
  "$python" -m venv "$work/venv" || return 1
  local site
  site=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  add_packages "$site"
  "$work/venv/bin/python" -m pip install --quiet --no-index "$wheel" && cd "$work" &&
    PATH=$work/venv/bin:$PATH sonde torch build --python "$work/venv/bin/python" &&
    env -u PYTHONPATH "$work/venv/bin/python" -c "import sonde; print(sonde.__file__)$hello" "$device"
}
pip_part() {
  "$python" -m venv "$work/venv_pip" || return 1
  local site
  site=$("$work/venv_pip/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  add_packages "$site"
  PATH=$prefix/bin:$PATH "$work/venv_pip/bin/python" -m pip install --quiet --no-index --no-build-isolation "$root/python" &&
    cd "$work" && env -u PYTHONPATH "$work/venv_pip/bin/python" -c "import sonde; print(sonde.__file__)$hello" "$device"
}
programs_part() {
  local rc=0
  cd "$work" || return 1
  "$python" "$root/tests/cuda/train.py" --torch torch.json || rc=1
  echo "-- python3 -m sonde"
  "$python" -m sonde "$root/tests/cuda/train.py" --torch stood_in.json || rc=1
  # Its calls have the driver's names (docs/gpu.md): what the device did is compared.
  "$python" "$root/tests/cuda/compare_traces.py" torch.json stood_in.json | tee stood_in.txt
  grep -q '^ok   device work by name' stood_in.txt && grep -q '^ok   work by its operator' stood_in.txt || rc=1
  echo "-- sonde run --as-torch-profiler"
  "$sonde" run -q --gpu=full --as-torch-profiler -o whole.sonde -- "$python" "$root/tests/cuda/train.py" --torch inner.json || rc=1
  "$python" "$root/tests/cuda/compare_traces.py" torch.json inner.json || rc=1
  "$sonde" export whole.sonde -o whole.json && "$python" "$root/tests/cuda/compare_traces.py" torch.json whole.json || rc=1
  echo "-- sonde run --capture-range cuda-profiler"
  cat >window.py <<'END'
import torch
x = torch.ones(64, 64, device="cuda")
for number in range(6):
    if number == 2:
        torch.cuda.profiler.start()
    with torch.profiler.record_function(f"step {number}"):
        x.mul(2)
    torch.cuda.synchronize()
    if number == 3:
        torch.cuda.profiler.stop()
END
  "$sonde" run -q --gpu --capture-range cuda-profiler -o window.sonde -- "$python" window.py || rc=1
  "$python" -c '
import sonde
names = [event.name for event in sonde.open("window.sonde").events() if event.activity_type in ("user_annotation", "cpu_op")]
print({name: names.count(name) for name in sorted(set(names))})
assert [name for name in names if name.startswith("step")] == ["step 2", "step 3"]' || rc=1
  echo "-- sonde run --stack --modules"
  "$sonde" run -q --gpu --stack --modules -o lines.sonde -- "$python" "$root/tests/cuda/train.py" || rc=1
  "$sonde" table lines.sonde --group-by-stack 2 --sort-by device_time_total --row-limit 5 || rc=1
  return "$rc"
}
bench_part() {
  "$python" "$root/bench/python_stacks.py" 8000
}

export -f add_packages wheel_part pip_part programs_part bench_part
# shellcheck disable=SC2090
export python sonde prefix root here work wheel hello device
tests() {
  "$python" -m pytest -q -p no:cacheprovider --show-capture=no --tb=short -rfEs --junitxml="$work/tests.$1.xml" "${@:2}"
}
export -f tests
export SONDE=$sonde
part wheel 100 wheel_part
part tests 105 tests all "$here" --ignore="$here/test_torch2.py" --ignore="$here/test_cuda.py"
part tests_torch2 105 tests torch2 "$here/test_torch2.py"
part tests_cuda 105 tests cuda "$here/test_cuda.py"
part examples_cpu 105 "$python" "$here/document_examples.py" cpu
[[ $device == cpu ]] || part examples_cuda 105 "$python" "$here/document_examples.py" cuda
part training_cpu 105 "$python" "$here/compare_training.py" cpu "$work"
mkdir "$work/device"
[[ $device == cpu ]] || part training_cuda 105 "$python" "$here/compare_training.py" cuda "$work/device"
part compiled_cpu 105 "$python" "$here/compare_compiled.py" cpu
[[ $device == cpu ]] || part compiled_cuda 105 "$python" "$here/compare_compiled.py" cuda
part pip 100 pip_part
[[ $device == cpu ]] || part programs 105 programs_part
finish
# By itself, because it measures.
part bench 50 bench_part
finish
echo "== what docs/pytorch-tests.md calls not tried"
"$python" "$here/cases_tried.py" "$work"/tests.*.xml || failed+=(cases_tried)
mapfile -t traces < <(cd "$work" && ls -d ./*.json.gz device/*.json.gz stood_in.json inner.json 2>/dev/null)
tar -C "$work" -czf "$out/python.tar.gz" "${traces[@]}"
printf '\n== %s\n' "failed: ${failed[*]:-nothing} ($SECONDS s)"
sleep 1
exit "${#failed[@]}"
