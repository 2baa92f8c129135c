# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What PyTorch's own suite checks of its profilers, checked of Sonde's. docs/pytorch-tests.md says which case of PyTorch's is which
test here."""

import collections
import copy
import gc
import gzip
import json
import os
import pickle
import re
import threading
import time
import warnings

import pytest

import sonde
from sonde import profiler
from sonde.autograd import profiler as autograd_profiler
from sonde.profiler import ProfilerActivity, profile, record_function, schedule

torch = pytest.importorskip("torch")
CPU = [ProfilerActivity.CPU]


@pytest.fixture(autouse=True)
def adapter():
    try:
        sonde._native.attach_torch()
    except RuntimeError as error:
        pytest.skip(f"no adapter for this torch: {error}")


def counts(events):
    return collections.Counter(event.name for event in events)


def exported(prof, tmp_path, name="trace.json"):
    path = tmp_path / name
    prof.export_chrome_trace(str(path))
    opener = gzip.open if name.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def spans_of(trace, category):
    return [event for event in trace["traceEvents"] if event.get("ph") == "X" and event.get("cat") == category]


def test_annotations_of_loaders_and_optimizers_have_their_names_and_counts():
    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 10

        def __getitem__(self, at):
            return torch.full((3,), float(at))

    class Own(torch.optim.SGD):
        pass

    weight = torch.nn.Parameter(torch.ones(3))
    optimizers = [torch.optim.SGD([weight], lr=0.1), Own([weight], lr=0.1), pickle.loads(pickle.dumps(torch.optim.Adam([weight])))]
    loader = torch.utils.data.DataLoader(Rows(), batch_size=2)
    with profile(activities=CPU) as prof:
        for _ in loader:
            for optimizer in optimizers:
                optimizer.zero_grad()
                optimizer.step()
    found = counts(prof.events())
    assert found["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"] == 6
    for name in ("SGD", "Own", "Adam"):
        assert found[f"Optimizer.step#{name}.step"] == 5
        assert found[f"Optimizer.zero_grad#{name}.zero_grad"] == 5


def test_allocations_are_credited_to_operators_and_annotations(tmp_path):
    with profile(activities=CPU, profile_memory=True) as prof:
        with record_function("make"):
            x = torch.rand(10, 10)
        with record_function("free"):
            del x
        y = torch.rand(10, 10)
        del y
    rows = {row.key: row for row in prof.key_averages()}
    assert rows["make"].cpu_memory_usage == 400 and rows["free"].cpu_memory_usage == -400
    assert rows["aten::rand"].cpu_memory_usage == 800 and rows["aten::empty"].self_cpu_memory_usage == 800
    assert rows["[memory]"].cpu_memory_usage == -400  # by no operator and no range
    memory = [event for event in exported(prof, tmp_path)["traceEvents"] if event.get("name") == "[memory]"]
    assert [event["args"]["Bytes"] for event in memory] == [400, -400, 400, -400]
    assert {"Total Allocated", "Device Type", "Device Id", "Addr"} <= set(memory[0]["args"])


def test_flops_are_in_the_table():
    model = torch.nn.Sequential(torch.nn.Conv2d(16, 33, 18), torch.nn.ReLU(), torch.nn.Linear(3, 8))
    with profile(activities=CPU, record_shapes=True, with_flops=True) as prof:
        model(torch.rand(4, 16, 20, 20))
    averages = prof.key_averages(group_by_input_shape=True)
    assert re.search(r"Total [KMGT]?FLOPs", averages.table(sort_by="cpu_time_total", row_limit=10))
    flops = {row.key: row.flops for row in averages}
    assert flops["aten::conv2d"] == 2 * 4 * 33 * 16 * 18 * 18 * 3 * 3
    with profile(activities=CPU, record_shapes=True, with_flops=True):
        torch.nested_tensor([torch.rand(2, 3), torch.rand(4, 3)]) if hasattr(torch, "nested_tensor") else None


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_one_unit_for_all_cells(unit):
    with profile(activities=CPU) as prof:
        torch.ones(3).add(1)
    lines = prof.key_averages().table(time_unit=unit).splitlines()
    cells = [cell for line in lines[3:-4] for cell in line.split()[1:] if re.fullmatch(r"\d+\.\d+[a-z]+", cell)]
    assert cells and all(re.fullmatch(r"\d+\.\d+", cell[:-len(unit)]) and cell.endswith(unit) for cell in cells)


def test_steps_are_counted_by_the_tracker():
    before = autograd_profiler.KinetoStepTracker.current_step()
    called = []
    with profile(activities=CPU, schedule=schedule(wait=1, warmup=1, active=2), on_trace_ready=called.append) as prof:
        for _ in range(8):
            torch.ones(1)
            prof.step()
    assert len(called) == 2
    assert autograd_profiler.KinetoStepTracker.current_step() == before + 8
    assert not autograd_profiler.KinetoStepTracker.erase_step_count("ProfilerStep")


def test_the_fastest_stepper_counts():
    tracker = autograd_profiler.KinetoStepTracker
    before = tracker.current_step()
    for name in ("one", "two"):
        tracker.init_step_count(name)
    for _ in range(3):
        tracker.increment_step("one")
    for _ in range(2):
        tracker.increment_step("two")
    assert tracker.current_step() == before + 3
    with pytest.warns(UserWarning, match="increased more than 1"):
        tracker._step_dict["two"] += 2
        tracker.increment_step("two")
    assert tracker.erase_step_count("one") and tracker.erase_step_count("two") and not tracker.erase_step_count("two")


def test_exported_stacks_end_in_positive_numbers(tmp_path):
    with profile(activities=CPU, with_stack=True) as prof:
        for _ in range(3):
            torch.mm(torch.rand(64, 64), torch.rand(64, 64))
    for make in (prof.export_stacks, lambda path: autograd_profiler.EventList(list(prof.events())).export_stacks(path, "self_cpu_time_total")):
        make(str(tmp_path / "stacks"))
        lines = (tmp_path / "stacks").read_text().splitlines()
        assert lines and all(int(line.rpartition(" ")[2]) > 0 and "test_pytorch_suite.py" in line for line in lines)


def test_traces_are_json_also_when_nothing_happened(tmp_path):
    with profile(activities=CPU) as prof:
        pass
    assert spans_of(exported(prof, tmp_path, "nothing.json.gz"), "cpu_op") == []
    with autograd_profiler.profile() as prof:
        torch.ones(1)
    assert {"schemaVersion", "traceEvents"} <= set(exported(prof, tmp_path))


def test_arguments_of_operators_are_in_the_file(tmp_path):
    with profile(activities=CPU, record_shapes=True) as prof:
        x, y = torch.ones(6, 4), torch.ones(6, 4)
        torch.cat([x, y], 1)
        torch.add(x, y, alpha=2)
        x[::2].t().add(1)
    operators = {event["name"]: event["args"] for event in spans_of(exported(prof, tmp_path), "cpu_op")}
    assert operators["aten::cat"]["Input type"] == ["TensorList", "Scalar"]
    assert operators["aten::cat"]["Input Dims"] == [[[6, 4], [6, 4]], []]
    assert operators["aten::cat"]["Concrete Inputs"] == ["", "1"]
    assert operators["aten::add"]["Input Strides"][0] == [1, 8]
    assert all(args["Record function id"] >= 0 and args["External id"] > 0 for args in operators.values())
    ids = [args["External id"] for args in operators.values()]
    assert len(set(ids)) == len(ids)


def test_gradients_are_linked_to_their_operators(tmp_path):
    weight = torch.ones(3, 3, requires_grad=True)
    with profile(activities=CPU) as prof:
        torch.sigmoid(torch.mm(torch.ones(2, 3), weight)).sum().backward()
    trace = exported(prof, tmp_path)
    flows = [event for event in trace["traceEvents"] if event.get("cat") == "fwdbwd"]
    starts = {event["ts"]: event["id"] for event in flows if event["ph"] == "s"}
    assert sorted(starts.values()) == sorted(event["id"] for event in flows if event["ph"] == "f")
    in_events = {event.flow_id for event in prof.events() if event.flow_type == 1 and event.flow_start}
    assert in_events == set(starts.values()) == {event.flow_id for event in prof.events() if event.flow_type == 1 and not event.flow_start}
    linked = {event["name"] for event in spans_of(trace, "cpu_op") if event["ts"] in starts}
    assert {"aten::mm", "aten::sigmoid", "aten::sum"} <= linked


def test_ranges_keep_their_arguments_as_inputs():
    u = torch.randn(3, 4, 5, requires_grad=True)
    with autograd_profiler.profile(record_shapes=True) as prof:
        with torch.autograd.profiler.record_function("## TEST 1 ##", "1, 2, 3"):
            handle = torch.autograd._record_function_with_args_enter("## TEST 2 ##", 1, False, 2.5, [u, u], "hello", u)
            torch.autograd._record_function_with_args_exit(handle)
        with torch.autograd.profiler.record_function("## TEST 3 ##"):
            handle = torch.autograd._record_function_with_args_enter("## TEST 4 ##")
            torch.autograd._record_function_with_args_exit(handle)
    shapes = {event.name: event.input_shapes for event in prof.function_events}
    assert shapes["## TEST 1 ##"] == [[]]
    assert shapes["## TEST 2 ##"][:3] == [[], [], []] and shapes["## TEST 2 ##"][4:] == [[], [3, 4, 5]]
    assert shapes["## TEST 3 ##"] == [] and shapes["## TEST 4 ##"] == []


def test_data_pipes_are_ranges():
    pipes = pytest.importorskip("torch.utils.data.datapipes")
    with autograd_profiler.profile() as prof:
        first, second = pipes.iter.IterableWrapper(range(4)), pipes.iter.IterableWrapper(range(4, 8))
        assert sorted(first.mux(second)) == list(range(8))
        copies = pipes.iter.IterableWrapper(range(3)).fork(num_instances=2)
        assert list(copies[0]) == [0, 1, 2]
    names = " ".join(counts(prof.function_events))
    assert "IterableWrapper" in names and "Multiplexer" in names and "_ChildDataPipe" in names


def test_only_annotations_are_annotations():
    with profile(activities=CPU) as prof:
        with record_function("mine"):
            torch.ones(1).add(1)
    assert {event.name for event in prof.events() if event.is_user_annotation} == {"mine"}


def test_nothing_but_the_program_is_recorded():
    x = torch.ones(4)
    with profile(activities=CPU) as prof:
        y = x.add(x)
    assert counts(prof.events()) == {"aten::add": 1}
    assert y[0] == 2


@pytest.mark.parametrize("arguments, accumulated, expected", [
    (dict(wait=0, warmup=0, active=1, repeat=1), True, 1), (dict(wait=0, warmup=0, active=5, repeat=0), True, 100),
    (dict(wait=0, warmup=0, active=5, repeat=10), True, 50), (dict(wait=0, warmup=1, active=5, repeat=0), True, 83),
    (dict(wait=0, warmup=10, active=10, repeat=4), True, 40), (dict(wait=0, warmup=50, active=1, repeat=0), True, 1),
    (dict(wait=0, warmup=0, active=5, repeat=0), False, 0), (dict(wait=0, warmup=10, active=10, repeat=4), False, 10)])
def test_as_many_steps_as_the_schedule_says(arguments, accumulated, expected):
    x = torch.ones(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with profile(activities=CPU, schedule=schedule(**arguments), acc_events=accumulated) as prof:
            for _ in range(100):
                x.add(1)
                prof.step()
    assert counts(prof.events())["aten::add"] == expected


def test_a_child_of_fork_has_its_own_number(tmp_path):
    child = os.fork()
    if child == 0:
        try:
            with profile(activities=CPU) as prof:
                torch.ones(1)
            operators = spans_of(exported(prof, tmp_path, "child.json"), "cpu_op")
            os._exit(0 if operators and all(event["pid"] == os.getpid() for event in operators) else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


def test_all_threads_are_recorded_with_their_operators():
    barrier, results = threading.Barrier(3), []

    def work():
        barrier.wait()
        results.append(torch.ones(2).mul(3))
        barrier.wait()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    with profile(activities=CPU, with_calls=True) as prof:
        barrier.wait()
        barrier.wait()
    for thread in threads:
        thread.join()
    operators = [event for event in prof.events() if event.name == "aten::mul"]
    assert len(operators) == 2 and len({event.thread for event in operators}) == 2
    # What was open when recording began is in the trace, on each thread.
    spans = prof.trace().spans
    open_before = collections.Counter(spans["name"][row].rpartition(": ")[2] for row in range(len(spans)) if spans["kind"][row] == "python_function")
    assert open_before["work"] == 2 and open_before["_bootstrap"] == 2 and open_before["run"] >= 2
    assert open_before["test_all_threads_are_recorded_with_their_operators"] == 1


def test_post_processing_may_have_a_limit():
    for limit in (None, 1000.0):
        with profile(activities=CPU, post_processing_timeout_s=limit) as prof:
            torch.ones(1)
        assert counts(prof.events())["aten::ones"] == 1
    with pytest.raises(ValueError, match="non-negative"):
        profile(activities=CPU, post_processing_timeout_s=-1)


def test_activities_may_name_their_types():
    with profile(activities=[{ProfilerActivity.CPU: ["CPU_OP"]}]) as prof:
        torch.ones(1)
    assert prof.activity_filters == {ProfilerActivity.CPU: ["CPU_OP"]} and len(prof.events()) > 0
    with pytest.raises(ValueError, match="more than once"):
        profile(activities=[ProfilerActivity.CPU, {ProfilerActivity.CPU: []}])
    for wrong in ("NO_TYPE", "GPU_MEMCPY"):
        prof = profile(activities=[{ProfilerActivity.CPU: [wrong]}])
        with pytest.raises(RuntimeError, match="Unknown or non-member activity type name"):
            prof.start()


def test_lists_of_the_program_have_every_answer(tmp_path):
    with profile(activities=CPU, record_shapes=True, profile_memory=True) as prof:
        with record_function("outer"):
            torch.mm(torch.ones(3, 4), torch.ones(4, 5)).add(1)
    events = prof.events()
    made = autograd_profiler.EventList(list(events), profile_memory=True)
    assert made.table() == events.table()
    for by in ({}, {"group_by_input_shapes": True}, {"group_by_overload_name": True}):
        assert made.key_averages(**by).table(sort_by="cpu_time_total") == events.key_averages(**by).table(sort_by="cpu_time_total")
    assert made.total_average().cpu_time_total == pytest.approx(events.total_average().cpu_time_total)
    assert made.self_cpu_time_total == pytest.approx(events.self_cpu_time_total)
    made.export_chrome_trace(str(tmp_path / "made.json"))
    assert len(json.loads((tmp_path / "made.json").read_text())) == len(made)
    averages = prof.key_averages()
    averages.sort(key=lambda row: row.key)
    assert "aten::mm" in averages.table() and len(averages.table().splitlines()) == len(prof.key_averages().table().splitlines())
    with pytest.raises(AttributeError):
        averages.table(sort_by="nonsense")


def test_events_show_their_attributes():
    with profile(activities=CPU) as prof:
        torch.ones(1)
    assert {"name", "cpu_time_total", "input_shapes", "cpu_children", "stack"} <= set(dir(prof.events()[0]))


def test_sequence_numbers_join_gradients_and_operators():
    x = torch.randn(3, 3, requires_grad=True)
    with autograd_profiler.profile() as prof:
        x.mul(2).sum().backward()
    events = prof.function_events
    numbers = {event.name: event.sequence_nr for event in events if event.sequence_nr >= 0}
    assert numbers["aten::mul"] == numbers["MulBackward0"] >= 0 and numbers["aten::sum"] == numbers["SumBackward0"] >= 0
    forward = next(event for event in events if event.name == "aten::mul" and event.sequence_nr >= 0)
    assert next(event for event in events if event.name == "MulBackward0").fwd_thread == forward.thread


def test_an_lstm_adds_up():
    rnn = torch.nn.LSTM(10, 20, 2)
    with autograd_profiler.profile(record_shapes=True) as prof:
        for _ in range(5):
            rnn(torch.randn(5, 3, 10), (torch.randn(2, 3, 20), torch.randn(2, 3, 20)))
    table = prof.table(sort_by="self_cpu_time_total", row_limit=10, header="TEST")
    assert table.splitlines()[1] == "TEST" and "aten::lstm" in prof.key_averages(group_by_input_shape=True).table()
    lstm = next(row for row in prof.key_averages() if row.key == "aten::lstm")
    assert lstm.count == 5 and 0 < lstm.self_cpu_time_total <= lstm.cpu_time_total
    assert prof.key_averages()[0].cpu_time == pytest.approx(prof.key_averages()[0].cpu_time_total / prof.key_averages()[0].count)


def categories(prof):
    """Bytes at the peak."""
    return prof.trace().memory(device="cpu")["devices"][0]["peak"]["by_category"]


def memory_of(work):
    with profile(activities=CPU, record_shapes=True, profile_memory=True) as prof:
        work()
    return prof


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


PARAMETER_BYTES = 4 * (8 * 16 + 16 + 16 * 4 + 4)


def purposes(prof):
    roles = prof.trace().tensor_roles
    return collections.Counter(roles["purpose"][row] for row in range(len(roles)))


def test_parameters_are_known_in_inference():
    net = Net()

    def infer():
        with torch.no_grad():
            net(torch.ones(2, 8))

    prof = memory_of(infer)
    assert purposes(prof) == {"parameter": 4}
    assert categories(prof)["parameter"] == PARAMETER_BYTES


def test_parameters_are_known_without_an_optimizer():
    net = Net()
    prof = memory_of(lambda: net(torch.ones(2, 8)).sum().backward())
    found = categories(prof)
    assert found["parameter"] == PARAMETER_BYTES and found["gradient"] > 0


@pytest.mark.parametrize("make, tensors", [(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), 1), (torch.optim.Adam, 2)])
def test_states_of_optimizers_are_known_from_the_first_step(make, tensors):
    net = Net()
    optimizer = make(net.parameters())

    def train():
        net(torch.ones(2, 8)).sum().backward()
        optimizer.step()

    found = categories(memory_of(train))
    assert found["parameter"] == PARAMETER_BYTES
    # Adam also counts its steps, in tensors of four bytes.
    assert 0 <= found["optimizer_state"] - tensors * PARAMETER_BYTES <= 4 * 4
    assert PARAMETER_BYTES <= found["gradient"]


def test_modules_of_any_kind_may_be_called():
    class Unhashable(torch.nn.Linear):
        def __eq__(self, other):
            return self is other

        __hash__ = None

    net = Unhashable(2, 2)
    for options in ({"record_shapes": True, "profile_memory": True}, {"with_calls": True}):
        with profile(activities=CPU, **options) as prof:
            net(torch.ones(1, 2))
        assert "aten::linear" in counts(prof.events())


def test_tensors_are_told_to_every_recording_and_to_no_other():
    net = Net()
    gc.collect()  # an optimizer of another test would be reported too
    for _ in range(2):
        assert purposes(memory_of(lambda: net(torch.ones(2, 8)))) == {"parameter": 4}
    with profile(activities=CPU, profile_memory=True) as prof:
        net(torch.ones(2, 8))
    assert purposes(prof) == {}
    steps = schedule(wait=0, warmup=1, active=1, repeat=2)
    found = []
    with profile(activities=CPU, record_shapes=True, profile_memory=True, schedule=steps,
                 on_trace_ready=lambda prof: found.append(purposes(prof))) as prof:
        for _ in range(4):
            net(torch.ones(2, 8))
            prof.step()
    assert found == [{"parameter": 4}, {"parameter": 4}]


def test_a_module_that_raises_is_not_around_the_next():
    class Broken(torch.nn.Module):
        def forward(self, x):
            raise KeyError("x")

    with profile(activities=CPU, with_modules=True) as prof:
        for _ in range(2):
            with pytest.raises(KeyError):
                torch.nn.Sequential(Broken())(torch.ones(1))
        torch.nn.Linear(2, 2)(torch.ones(1, 2))
    names = counts(event for event in prof.events() if event.name.startswith("nn.Module"))
    assert names == {"nn.Module: Sequential": 2, "nn.Module: Sequential.0": 2, "nn.Module: Linear": 1}


def test_a_request_that_fails_is_in_the_trace(tmp_path):
    with profile(activities=CPU, profile_memory=True) as prof:
        with pytest.raises(RuntimeError):
            torch.empty(1 << 50)
    failed = [event for event in exported(prof, tmp_path)["traceEvents"] if event.get("name") == "[OutOfMemory]"]
    assert failed[0]["args"]["Bytes"] == 4 << 50 and "Total Allocated" in failed[0]["args"]


def test_script_modules_have_their_hierarchy(tmp_path):
    class Inner(torch.nn.Module):
        def forward(self, x):
            return x + 1

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.fc = Inner(), torch.nn.Linear(3, 3)

        def forward(self, x):
            return self.inner(self.fc(x))

    model = torch.jit.script(Outer())
    for _ in range(3):
        model(torch.ones(2, 3))
    with profile(activities=CPU, with_modules=True) as prof:
        model(torch.ones(2, 3))
    paths = {event["name"]: event["args"].get("Module Hierarchy", "") for event in spans_of(exported(prof, tmp_path), "cpu_op")}
    assert "inner(Inner)::forward" in paths["aten::add"] and "fc(Linear)::forward" in paths["aten::addmm"]


def test_configurations_can_be_copied_and_pickled():
    config = profiler._ExperimentalConfig(verbose=True, profiler_metrics=["one"], custom_profiler_config="x")
    for copied in (pickle.loads(pickle.dumps(config)), copy.deepcopy(config)):
        assert vars(copied) == vars(config)


def test_torch_knows_that_it_is_profiled(monkeypatch):
    # The flag and the function that torch 2 has.
    monkeypatch.setattr(torch.autograd.profiler, "_is_profiler_enabled", False, raising=False)
    before = torch.autograd._profiler_enabled
    for kind in (profile, autograd_profiler.profile):
        with kind():
            assert torch.autograd.profiler._is_profiler_enabled and torch.autograd._profiler_enabled()
        assert not torch.autograd.profiler._is_profiler_enabled and torch.autograd._profiler_enabled is before


def test_a_second_is_a_second():
    with profile(activities=CPU) as prof:
        outer = time.perf_counter()
        with record_function("work"):
            inner = time.perf_counter()
            while time.perf_counter() - inner < 0.02:
                pass
            inner = time.perf_counter() - inner
        outer = time.perf_counter() - outer
    took = next(event for event in prof.events() if event.name == "work").time_range.elapsed_us() / 1e6
    assert inner * 0.999 <= took <= outer * 1.001


def test_a_file_ends_as_kinetos_do(tmp_path):
    with profile(activities=CPU) as prof:
        torch.ones(1)
    events = exported(prof, tmp_path)["traceEvents"]
    assert [event["ph"] for event in events[-4:]] == ["X", "M", "i", "i"]
    assert events[-4]["cat"] == "Trace" and events[-3]["name"] == "process_sort_index" and events[-1]["name"] == "Record Window End"
    begin, end = events[-4]["ts"], events[-4]["ts"] + events[-4]["dur"]
    assert all(begin <= event["ts"] and event["ts"] + event["dur"] <= end for event in events if event["ph"] == "X")


def test_overloads_have_rows_and_a_column():
    with profile(activities=CPU) as prof:
        x = torch.ones(2)
        x.add(x)
        x.add(1)
    rows = {(row.key, row.overload_name) for row in prof.key_averages(group_by_overload_name=True)}
    assert ("aten::add", "Tensor") in rows and ("aten::ones", "") in rows
    assert "Overload Name" in prof.key_averages(group_by_overload_name=True).table()
    assert "Overload Name" not in prof.key_averages().table()


def test_events_say_what_the_file_says(tmp_path):
    with profile(activities=CPU, record_shapes=True) as prof:
        with record_function("mine"):
            torch.ones(3).add(1)
    trace = exported(prof, tmp_path)
    for category in ("cpu_op", "user_annotation"):
        in_file = collections.Counter(event["name"] for event in spans_of(trace, category))
        assert in_file == collections.Counter(event.name for event in prof.events() if event.activity_type == category)
    durations = sorted(event["dur"] for event in spans_of(trace, "cpu_op"))
    assert collections.Counter((event["name"], event["args"]["External id"]) for event in spans_of(trace, "cpu_op")) == \
        collections.Counter((event.name, event.external_id) for event in prof.events() if event.activity_type == "cpu_op")
    assert durations == pytest.approx(sorted(event.time_range.elapsed_us() for event in prof.events() if event.activity_type == "cpu_op"), abs=0.002)


def test_python_exports_are_the_same_file(tmp_path):
    with profile(activities=CPU) as prof:
        torch.ones(1)
    for name in ("one.json", "two.json.gz"):
        prof.export_chrome_trace(str(tmp_path / name), use_python_export=True)
        opener = gzip.open if name.endswith(".gz") else open
        with opener(tmp_path / name, "rt") as file:
            assert json.load(file)["traceEvents"] == exported(prof, tmp_path)["traceEvents"]


def test_execution_traces_follow_their_observer(tmp_path, monkeypatch):
    monkeypatch.delenv("ENABLE_PYTORCH_EXECUTION_TRACE", raising=False)
    assert profile(activities=CPU).execution_trace_observer is None

    def written(name, rounds):
        observer = profiler.ExecutionTraceObserver().register_callback(str(tmp_path / name))
        for number in range(4):
            if number in rounds:
                observer.start()
            assert observer._execution_trace_running == observer.is_running() == (number in rounds)
            with torch.autograd.profiler.record_function(f"## LOOP {number} ##"):
                torch.ones(1)
            if number in rounds:
                observer.stop()
        assert observer.get_output_file_path() == str(tmp_path / name)
        observer.unregister_callback()
        nodes = json.loads((tmp_path / name).read_text())["nodes"]
        assert next(node for node in nodes if "process]" in node["name"])["id"] == 1
        return [node["name"] for node in nodes if node["name"].startswith("## LOOP")]

    assert written("twice.json", (1, 3)) == ["## LOOP 1 ##", "## LOOP 3 ##"]
    assert written("again.json", (0,)) == ["## LOOP 0 ##"]
    assert written("never.json", ()) == []
