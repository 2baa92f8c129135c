# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What needs a GPU."""

import collections
import gc
import json
import subprocess
import sys

import pytest

import sonde
from sonde.profiler import ExecutionTraceObserver, ProfilerActivity, _ExperimentalConfig, profile, record_function

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)
BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


@pytest.fixture(autouse=True)
def adapter():
    try:
        sonde._native.attach_torch()
    except RuntimeError as error:
        pytest.skip(f"no adapter for this torch: {error}")


def exported(prof, tmp_path):
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    return json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def work():
    x = torch.randn(64, 64).cuda()
    return (x @ x + x).cpu()


def device_work(events):
    return collections.Counter(event.name for event in events if event.device_type == torch.autograd.DeviceType.CUDA)


def test_kernels_and_copies_have_their_times_and_operators():
    work()
    with profile() as ours:
        work()
    assert len(device_work(ours.events())) >= 4
    table = ours.key_averages().table(sort_by="self_cuda_time_total")
    assert "Self CUDA %" in table and "CUDA time avg" in table
    product = next(event for event in ours.events() if event.name == "aten::mm")
    assert len(product.kernels) >= 1 and product.device_time_total > 0


def test_waits_are_recorded_if_asked_for(tmp_path):
    with profile(activities=BOTH, experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)) as prof:
        work()
        torch.cuda.synchronize()
    assert "cuda_sync" in {event.get("cat") for event in exported(prof, tmp_path)}


def test_work_is_not_joined_if_asked_for(tmp_path):
    work()
    with profile(activities=BOTH, experimental_config=_ExperimentalConfig(disable_external_correlation=True)) as prof:
        work()
    found = [event for event in exported(prof, tmp_path) if event.get("cat") in DEVICE + ("cuda_runtime",)]
    assert any(event["cat"] == "kernel" for event in found)
    assert not any(event["args"].get("External id") for event in found)


def test_calls_and_work_say_their_operator(tmp_path):
    work()
    with profile(activities=BOTH) as prof:
        work()
    events = exported(prof, tmp_path)
    found = [event for event in events if event.get("cat") in DEVICE + ("cuda_runtime",)]
    assert {"kernel", "gpu_memcpy", "cuda_runtime"} <= {event["cat"] for event in found}
    without = collections.Counter(event["name"] for event in found if not event["args"].get("External id"))
    # At its end a profiler waits for the device.
    assert set(without) <= {"cudaDeviceSynchronize"}, without


def test_types_of_device_work_are_all_that_is_there():
    with profile(activities=[{ProfilerActivity.CUDA: ["GPU_MEMCPY", "CUDA_RUNTIME"]}]) as prof:
        work()
    names = [event.name for event in prof.events()]
    assert any("Memcpy" in name for name in names) and any(name.startswith("cuda") for name in names)
    assert not any(name.startswith("aten::") for name in names)
    with profile(activities=[ProfilerActivity.CPU, {ProfilerActivity.CUDA: ["GPU_MEMCPY"]}]) as prof:
        with record_function("mine"):
            work()
    names = [event.name for event in prof.events()]
    assert "mine" in names and "aten::mm" in names and any("Memcpy" in name for name in names)
    assert {event.activity_type for event in prof.events()} & {"kernel", "cuda_runtime"} == set()


def test_profiling_again_and_again_takes_no_memory_of_the_gpu():
    def once():
        with profile():
            for _ in range(20):
                work()

    for _ in range(3):
        once()
    gc.collect()
    torch.cuda.synchronize()
    free = torch.cuda.mem_get_info()[0]
    for _ in range(8):
        once()
    torch.cuda.synchronize()
    assert free - torch.cuda.mem_get_info()[0] <= 8 << 20


def test_work_on_streams_is_below_what_launched_it():
    side = torch.cuda.Stream()
    with profile(with_calls=True) as prof:
        with torch.cuda.stream(side):
            torch.ones(64, device="cuda").mul(2)
        torch.cuda.synchronize()
    kernels = [event for event in prof.events() if event.activity_type == "kernel"]
    assert kernels and {event.device_resource_id for event in kernels}
    launcher = next(event for event in prof.events() if event.name == "aten::mul")
    assert len(launcher.kernels) == 1


def test_memory_of_the_gpu_is_credited(tmp_path):
    with profile(profile_memory=True, record_shapes=True) as prof:
        with record_function("make"):
            x = torch.empty(1024, 1024, device="cuda")
        with record_function("free"):
            del x
    rows = {row.key: row for row in prof.key_averages()}
    assert rows["make"].device_memory_usage == 4 << 20 and rows["free"].device_memory_usage == -(4 << 20)
    prof.export_memory_timeline(str(tmp_path / "memory.html"), "cuda:0")
    assert "<html" in (tmp_path / "memory.html").read_text()


def test_requests_that_fail_are_in_the_trace(tmp_path):
    with profile(profile_memory=True) as prof:
        with pytest.raises(RuntimeError):
            torch.empty(1 << 50, device="cuda")
    failed = [event for event in exported(prof, tmp_path) if event.get("name") == "[OutOfMemory]"]
    assert failed and failed[0]["args"]["Bytes"] >= 4 << 50


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="needs torch 2")
def test_kernels_of_triton_are_operators_and_nodes(tmp_path):
    import torch._dynamo
    pytest.importorskip("triton")
    torch._dynamo.reset()
    net = torch.compile(lambda x: torch.softmax(torch.nn.functional.gelu(x) * 3, -1))
    x = torch.randn(64, 256, device="cuda")
    net(x)
    net(x)

    def count(events):
        return collections.Counter(event.name for event in events
                                   if "triton" in event.name and event.device_type == torch.autograd.DeviceType.CPU)

    observer = ExecutionTraceObserver().register_callback(str(tmp_path / "et.json"))
    observer.set_extra_resource_collection(True)
    with profile(record_shapes=True, execution_trace_observer=observer) as ours:
        net(x)
    found = count(ours.events())
    assert len(found) >= 1 and all(number == 1 for number in found.values())
    kernel = next(event for event in ours.events() if event.name.startswith("triton_") and event.activity_type == "cpu_op")
    assert [64, 256] in kernel.input_shapes and kernel.kwinputs["kernel_backend"] == "triton" and kernel.kernels
    assert any(path.suffix == ".py" for path in (tmp_path / "et_resources").iterdir())


def test_a_profiler_within_another_has_its_device_work():
    work()
    with profile() as outer:
        work()
        with profile() as inner:
            work()
    assert device_work(inner.events()) and all(2 * count == device_work(outer.events())[name]
                                               for name, count in device_work(inner.events()).items())


AFTER_TORCH = """
import warnings, torch
from sonde.profiler import profile
x = torch.ones(8, device="cuda")
with torch.profiler.profile():
    x.add(1)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with profile() as prof:
        x.add(1)
    kernels = [event for event in prof.events() if event.activity_type == "kernel"]
print(len(kernels), any("torch.profiler" in str(one.message) for one in caught), [str(one.message) for one in caught])
"""


def test_says_that_torchs_profiler_has_the_gpu():
    said = subprocess.run([sys.executable, "-W", "ignore", "-c", AFTER_TORCH], check=True, capture_output=True, text=True).stdout
    kernels, is_said = said.split()[:2]
    assert int(kernels) > 0 or is_said == "True", said
