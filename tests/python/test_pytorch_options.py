# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of PyTorch's profilers, by what its own suite checks of them."""

import collections
import gc
import gzip
import json
import logging
import os
import warnings

import pytest

import sonde
from sonde import profiler
from sonde.profiler import ProfilerActivity, _ExperimentalConfig, _RecordFunctionFast, profile, record_function

torch = pytest.importorskip("torch")
CPU = [ProfilerActivity.CPU]


@pytest.fixture(autouse=True)
def adapter():
    try:
        sonde._native.attach_torch()
    except RuntimeError as error:
        pytest.skip(f"no adapter for this torch: {error}")


def exported(prof, tmp_path, name="trace.json"):
    path = tmp_path / name
    prof.export_chrome_trace(str(path))
    return json.loads(path.read_text())["traceEvents"]


def work():
    return torch.mm(torch.ones(4, 4), torch.ones(4, 4)).add(1)


def test_trace_only_has_the_whole_file_and_no_events(tmp_path):
    def keys(trace_only):
        with profile(activities=CPU, record_shapes=True, experimental_config=_ExperimentalConfig(trace_only=trace_only)) as prof:
            work()
        found = collections.defaultdict(set)
        for event in exported(prof, tmp_path):
            if event.get("cat") == "cpu_op":
                found[event["name"]] |= set(event["args"])
        return found, prof

    whole, _ = keys(False)
    only, prof = keys(True)
    assert only == whole and "aten::mm" in only
    with pytest.raises(RuntimeError, match="trace_only"):
        prof.events()
    with pytest.warns(UserWarning, match="trace_only"):
        prof = profile(activities=CPU, with_stack=True, experimental_config=_ExperimentalConfig(trace_only=True))
    with prof:
        work()
    assert len(prof.events()) > 0


def test_what_begins_while_collection_is_off_is_not_there():
    with profile(activities=CPU) as prof:
        torch.ones(1)
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
        with record_function("unwanted"):
            torch.zeros(1)
        prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
        work()
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CUDA])
        torch.rand(1)
    names = {event.name for event in prof.events()}
    assert {"aten::ones", "aten::mm", "aten::rand"} <= names and not names & {"aten::zeros", "unwanted"}
    with profile(activities=CPU) as prof:
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
        with record_function("unwanted"):
            work()
    assert len(prof.events()) == 0


def test_a_limit_of_no_time_gives_no_events(caplog):
    with profile(activities=CPU, post_processing_timeout_s=0.0) as prof:
        work()
    with caplog.at_level(logging.WARNING, logger="sonde.autograd.profiler"):
        assert len(prof.events()) == 0
    assert "timed out" in caplog.text and "partial results" in caplog.text
    assert prof.trace().events()  # the recording itself is whole


@pytest.mark.parametrize("activities, wanted, unwanted", [
    ([{ProfilerActivity.CPU: ["CPU_OP"]}], {"cpu_op"}, {"user_annotation", "cpu_instant_event"}),
    ([{ProfilerActivity.CPU: ["USER_ANNOTATION"]}], {"user_annotation"}, {"cpu_op"}),
    ([{ProfilerActivity.CPU: ["CPU_OP", "CPU_INSTANT_EVENT"]}], {"cpu_op", "cpu_instant_event"}, {"user_annotation"}),
    ([ProfilerActivity.CPU], {"cpu_op", "user_annotation", "cpu_instant_event"}, set()),
    ([{ProfilerActivity.CPU: []}], set(), {"cpu_op", "user_annotation", "cpu_instant_event"}),
])
def test_types_of_activities_are_all_that_is_there(tmp_path, activities, wanted, unwanted):
    with profile(activities=activities, profile_memory=True) as prof:
        with record_function("mine"):
            work()
    kinds = {event.activity_type for event in prof.events()}
    in_file = {event.get("cat") for event in exported(prof, tmp_path)}
    assert wanted <= in_file and not unwanted & in_file and not unwanted & kinds
    if not wanted:
        assert len(prof.events()) == 0


def test_types_of_one_activity_leave_the_others_whole():
    kinds = profiler._actions._kinds({ProfilerActivity.CPU: ["CPU_OP"], ProfilerActivity.CUDA: None})
    assert {"cpu_op", "kernel", "gpu_memcpy", "cuda_runtime", "cuda_sync"} <= set(kinds)
    assert not {"user_annotation", "python_function"} & set(kinds)
    kinds = profiler._actions._kinds({ProfilerActivity.CPU: None, ProfilerActivity.CUDA: ["CONCURRENT_KERNEL"]})
    assert {"cpu_op", "kernel", "scope"} <= set(kinds) and not {"gpu_memcpy", "cuda_sync"} & set(kinds)
    assert profiler._actions._kinds({ProfilerActivity.CPU: None}) is None


def test_overloads_are_in_exported_names_if_asked_for(tmp_path):
    def names(capture):
        with profile(activities=CPU, experimental_config=_ExperimentalConfig(capture_overload_names=capture)) as prof:
            x = torch.ones(2)
            x.add(x)
        assert {event.name for event in prof.events()} >= {"aten::add"}  # there the overload has its own attribute
        return {event["name"] for event in exported(prof, tmp_path) if event.get("cat") == "cpu_op"}

    assert "aten::add.Tensor" in names(True) and "aten::ones" in names(True)
    assert "aten::add" in names(False)


def test_events_are_numbered_if_asked_for(tmp_path):
    with profile(activities=CPU, experimental_config=_ExperimentalConfig(expose_kineto_event_metadata=True)) as prof:
        work()
    in_file = [event["args"]["Ev Idx"] for event in exported(prof, tmp_path) if event.get("cat") == "cpu_op"]
    assert in_file and len(set(in_file)) == len(in_file)
    for event in prof.events():
        assert json.loads(event.metadata_json)["Ev Idx"] in in_file
    with profile(activities=CPU) as prof:
        work()
    assert all("Ev Idx" not in event.get("args", {}) for event in exported(prof, tmp_path))


def test_ids_of_operators_are_unique_over_profilers():
    seen = set()
    for _ in range(5):
        with profile(activities=CPU) as prof:
            work()
        ids = [event.correlation_id() for event in prof.profiler.kineto_results.events() if event.activity_type() == "cpu_op"]
        assert ids and not seen & set(ids) and len(set(ids)) == len(ids) and max(ids) < 2**32
        seen |= set(ids)
        assert [event.external_id for event in prof.events() if event.activity_type == "cpu_op"] == ids


def test_calls_have_ids_and_those_of_their_callers(tmp_path):
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    with profile(activities=CPU, with_calls=True) as prof:
        net(torch.ones(1, 2))
    calls = [event for event in exported(prof, tmp_path) if event.get("cat") == "python_function"]
    by_id = {event["args"]["Python id"]: event for event in calls}
    assert len(by_id) == len(calls)
    for event in calls:
        parent = event["args"]["Python parent id"]
        if parent is not None:
            around = by_id[parent]
            assert around["ts"] <= event["ts"] and event["ts"] + event["dur"] <= around["ts"] + around["dur"] + 0.002
    modules = {event["name"]: event["args"]["Python module id"] for event in calls if "Python module id" in event["args"]}
    assert modules == {"nn.Module: Sequential_0": 0, "nn.Module: Linear_0": 0, "nn.Module: Linear_1": 1}


def test_source_lines_reach_calls_operators_and_modules(tmp_path):
    class Add(torch.nn.Module):
        def forward(self, x):
            return x.add(1)

    script = torch.jit.script(Add())
    with profile(activities=CPU, with_stack=True, with_calls=True) as prof:
        Add()(torch.ones(1)), script(torch.ones(1))
    stacks = ["\n".join(event.stack) for event in prof.events() if event.name == "aten::add"]
    assert any("test_pytorch_options.py" in stack and "forward" in stack for stack in stacks)
    names = {event["name"] for event in exported(prof, tmp_path)}
    assert "nn.Module: Add_0" in names and any(name.endswith(": forward") for name in names)


def test_fast_ranges_are_operators_with_inputs():
    x, y = torch.rand(4, 4), torch.rand(4, 4)
    with profile(activities=CPU, record_shapes=True) as prof:
        for _ in range(4):
            with _RecordFunctionFast("plain"):
                x.add(y)
        with_inputs = _RecordFunctionFast("inputs", [x, y], {"stream": 0, "grid": "lambda x : x + 1"})
        for _ in range(4):
            with with_inputs:
                x.add(y)
        for _ in range(4):
            with pytest.raises(ValueError):
                with _RecordFunctionFast("raising", input_values=["hi"], keyword_values={"hi": "hello"}):
                    raise ValueError
        with _RecordFunctionFast("outer", (x, y)):
            with _RecordFunctionFast("inner"):
                x.relu()
    found = collections.defaultdict(list)
    for event in prof.events():
        found[event.name].append(event)
    assert [len(found[name]) for name in ("plain", "inputs", "raising", "outer", "inner")] == [4, 4, 4, 1, 1]
    assert found["plain"][0].input_shapes == [] and found["plain"][0].kwinputs == {}
    assert found["inputs"][0].input_shapes == [[4, 4], [4, 4]] and found["outer"][0].input_shapes == [[4, 4], [4, 4]]
    assert found["inputs"][0].kwinputs == {"stream": 0, "grid": "lambda x : x + 1"} and found["inputs"][0].input_dtypes == ["float", "float"]
    assert found["raising"][0].input_shapes == [[]]
    assert found["inner"][0].cpu_parent is found["outer"][0] and found["plain"][0].activity_type == "cpu_op"
    with profile(activities=CPU) as prof:
        with _RecordFunctionFast("shapeless", [x, y], {"a": 1}):
            pass
    assert prof.events()[0].input_shapes == [] and prof.events()[0].kwinputs == {}


def test_fast_ranges_may_be_guarded(monkeypatch):
    monkeypatch.setattr(torch.autograd.profiler, "_is_profiler_enabled", False, raising=False)
    with profile(activities=CPU) as prof:
        guarded = _RecordFunctionFast("guarded")
        for _ in range(4):
            if torch.autograd.profiler._is_profiler_enabled:
                with guarded:
                    torch.ones(1)
    assert sum(event.name == "guarded" for event in prof.events()) == 4


def test_keywords_are_arguments_in_the_file(tmp_path):
    x = torch.rand(4, 4)
    given = {"stream": 0, "grid": "lambda x : x + 1", "quoted": 'a"b', "boolean": True, "texts": ["a", "b"], "mixed": ["a", 1],
             "numbers": [1, 2]}
    with profile(activities=CPU, record_shapes=True) as prof:
        with _RecordFunctionFast("keywords", [x], given):
            pass
        with _RecordFunctionFast("annotation", [x], {"stream": "test", "grid": [1, 2], "scope": "user_scope"}):
            pass
    events = {event["name"]: event for event in exported(prof, tmp_path) if event.get("ph") == "X"}
    args = events["keywords"]["args"]
    assert {name: args[name] for name in ("stream", "grid", "quoted", "boolean", "texts")} == {
        "stream": 0, "grid": "lambda x : x + 1", "quoted": 'a"b', "boolean": True, "texts": ["a", "b"]}
    assert "mixed" not in args and "numbers" not in args and events["keywords"]["cat"] == "cpu_op"
    assert events["annotation"]["cat"] == "user_annotation" and not {"stream", "grid"} & set(events["annotation"]["args"])


def nested():
    return pytest.importorskip("torch.nested") and torch.nested.nested_tensor([torch.randn(4, 4), torch.randn(4, 4)])


def test_nested_tensors_do_not_disturb():
    inputs, weight = nested(), torch.randn(4, 4)
    with profile(activities=CPU, record_shapes=True) as prof:
        torch.nn.functional.linear(inputs, weight, None)
    products = [event for event in prof.events() if event.name in ("aten::mm", "aten::addmm")]
    assert products and all(event.input_shapes and event.input_shapes[0] for event in products)


def test_execution_traces_have_operators_of_nested_tensors(tmp_path):
    observer = profiler.ExecutionTraceObserver().register_callback(str(tmp_path / "nested.json"))
    with profile(activities=CPU, execution_trace_observer=observer):
        for _ in range(3):
            torch.nn.functional.relu(nested())
    names = [node["name"] for node in json.loads((tmp_path / "nested.json").read_text())["nodes"]]
    assert sum("relu" in name for name in names) >= 3


def test_lazy_parameters_are_known_once_they_exist():
    net = torch.nn.Sequential(torch.nn.LazyLinear(5), torch.nn.ReLU(), torch.nn.LazyLinear(1))
    gc.collect()
    with profile(activities=CPU, record_shapes=True, profile_memory=True) as prof:
        net(torch.ones(2, 3)).sum().backward()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        optimizer.step()
        net(torch.ones(2, 3))
    assert prof.trace().memory(device="cpu")["devices"][0]["peak"]["by_category"]["parameter"] == 4 * (3 * 5 + 5 + 5 + 1)


def test_profiling_again_and_again_takes_no_memory():
    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def profile_once():
        with profile(activities=CPU, record_shapes=True):
            for _ in range(20):
                work()

    for _ in range(4):
        profile_once()
    gc.collect()
    before = resident()
    for _ in range(12):
        profile_once()
    gc.collect()
    assert resident() - before < 12 * 256 * 1024


def test_resources_are_beside_an_execution_trace(tmp_path, monkeypatch):
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE", "1")
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS", "1")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with profile(activities=CPU, schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1)) as prof:
        for _ in range(3):
            work()
            prof.step()
        observer = prof.execution_trace_observer
        path, folder = observer.get_output_file_path(), observer.get_resources_dir()
    assert json.loads(open(path, encoding="utf-8").read())["nodes"]
    assert folder == path.replace(".json", "_resources") and os.path.isdir(folder)
    assert all(name.endswith(".py") for name in os.listdir(folder)), "code that other tests had compiled"
    monkeypatch.delenv("ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS")
    with profile(activities=CPU) as prof:
        assert prof.execution_trace_observer.get_resources_dir(can_create=True) is None


def gather(path, **variables):
    observer = profiler.ExecutionTraceObserver().register_callback(str(path))
    observer.set_extra_resource_collection(True)
    values, indices = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[0, 0], [1, 0]])
    with profile(activities=CPU, record_shapes=True, execution_trace_observer=observer):
        torch.gather(values.t(), 1, indices)
    return next(node for node in json.loads(path.read_text())["nodes"] if node["name"] == "aten::gather")


def test_execution_traces_have_ranges_of_integral_tensors(tmp_path, monkeypatch):
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE", "1")
    attributes = {one["name"]: one["value"] for one in gather(tmp_path / "range.json")["attrs"]}
    assert json.loads(attributes["tensor_range"]) == {"0": [1, 4], "1": [0, 1]}
    monkeypatch.delenv("ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE")
    attributes = {one["name"]: one["value"] for one in gather(tmp_path / "none.json")["attrs"]}
    assert not attributes["tensor_range"]


def test_execution_traces_have_data_of_integral_tensors(tmp_path, monkeypatch):
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_DATA", "aten::gather,aten::other")
    node = gather(tmp_path / "data.json")["id"]
    files = {name: memoryview((tmp_path / "data_resources" / name).read_bytes()).cast("q").tolist()
             for name in os.listdir(tmp_path / "data_resources") if name.endswith(".dat")}
    assert files == {f"nid_{node}_tid_0.dat": [1, 3, 2, 4], f"nid_{node}_tid_1.dat": [0, 0, 1, 0]}
