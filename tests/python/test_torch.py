# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch's operators, recorded in the process that runs them, beside torch's own profiler."""

import collections
import os
import subprocess
import sys
import threading

import pytest

import sonde
from sonde import profiler

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def adapter():
    try:
        sonde._native.attach_torch()
    except RuntimeError as error:
        pytest.skip(f"no adapter for this torch: {error}")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(16, 32)
        self.fc2 = torch.nn.Linear(32, 4)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def train(net, optimizer, steps=1):
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.ones(8, 16)).sum().backward()
        optimizer.step()


@pytest.fixture
def job():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    train(net, optimizer)
    return net, optimizer


def counts(averages):
    return {(row.key, str(row.input_shapes)): row.count for row in averages if not row.key.startswith(("[memory]", "ProfilerStep"))}


def test_the_same_operators_shapes_and_counts_as_torchs_own(job):
    with torch.profiler.profile(record_shapes=True, activities=[torch.profiler.ProfilerActivity.CPU]) as theirs:
        train(*job)
    with profiler.profile(record_shapes=True, activities=[torch.profiler.ProfilerActivity.CPU]) as ours:
        train(*job)
    expected = counts(theirs.key_averages(group_by_input_shape=True))
    found = counts(ours.key_averages(group_by_input_shape=True))
    # An operator directly inside one of the same name is one event with it. This torch counts in microseconds, so it does
    # not always notice.
    twice = {key for key in expected if key[0] in ("aten::sum", "detach", "aten::detach")}
    assert set(found) == set(expected)
    assert {key: n for key, n in found.items() if key not in twice} == {key: n for key, n in expected.items() if key not in twice}


def test_arguments_have_values_types_and_strides():
    with profiler.profile(record_shapes=True) as prof:
        torch.ones(4, 6).sum(dim=[1], keepdim=True)
        torch.ones(2, 3).t().mul(3)
    total = next(event for event in prof.events() if event.name == "aten::sum")
    assert total.concrete_inputs[1:3] == [[1], True]
    assert total.input_dtypes[:3] == ["float", "ScalarList", "Scalar"]
    product = next(event for event in prof.events() if event.name == "aten::mul")
    assert product.structured_input_strides[0] == [1, 3] and product.input_shapes[0] == [3, 2]
    assert product.kwinputs == {}


def test_both_at_once(job):
    with torch.profiler.profile() as theirs, profiler.profile() as ours:
        train(*job)
    assert "aten::addmm" in [row.key for row in theirs.key_averages()]
    assert "aten::addmm" in [row.key for row in ours.key_averages()]


def test_device_types_are_torchs(job):
    with profiler.profile() as prof:
        train(*job)
    assert prof.events()[0].device_type == torch.autograd.DeviceType.CPU


def test_memory_of_a_torch_that_was_loaded_before():
    with profiler.profile(profile_memory=True, record_shapes=True) as prof:
        kept = torch.ones(1000, 1000)
        with profiler.record_function("free"):
            del kept
    rows = {row.key: row for row in prof.key_averages()}
    assert rows["aten::ones"].cpu_memory_usage == 4_000_000
    assert rows["aten::empty"].self_cpu_memory_usage == 4_000_000
    assert rows["free"].cpu_memory_usage == -4_000_000
    assert "4 MB" in prof.key_averages().table() or "3.81 Mb" in prof.key_averages().table() or "MB" in prof.key_averages().table()


def test_memory_timelines(job, tmp_path):
    with profiler.profile(profile_memory=True, record_shapes=True, with_stack=True) as prof:
        train(*job)
    for name in ("memory.html", "memory.json", "memory.raw.json.gz"):
        prof.export_memory_timeline(str(tmp_path / name), "cpu")
        assert (tmp_path / name).stat().st_size > 0
    with profiler.profile() as prof:
        train(*job)
    with pytest.raises(ValueError, match="profile_memory=True"):
        prof.export_memory_timeline(str(tmp_path / "no.html"))


def test_operators_know_their_lines(job):
    with profiler.profile(with_stack=True) as prof:
        train(*job)
    relu = next(event for event in prof.events() if event.name == "aten::relu")
    assert relu.stack[0].startswith(__file__) and relu.stack[0].endswith(": forward")
    gradient = next(event for event in prof.events() if event.name == "ReluBackward0")
    assert gradient.stack == relu.stack


class Dispatched(torch.Tensor):
    """Runs other operators in Python, by one function from two lines."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def double(value):
            return value.mul(2)

        plain = torch.ones(2)
        first = double(plain)
        second = double(first)
        return second


def test_operators_within_operators_have_the_stack_that_runs():
    x = torch.Tensor._make_subclass(Dispatched, torch.ones(2))
    with profiler.profile(with_stack=True) as prof:
        x + 1
        torch.ones(2).add(1)
    inner = [event.stack for event in prof.events() if event.name == "aten::mul"]
    assert len(inner) >= 2 and all(stack[0].endswith(": double") for stack in inner)
    callers = sorted({int(stack[1].partition("(")[2].partition(")")[0]) for stack in inner})
    assert len(callers) == 2 and callers[1] == callers[0] + 1
    # What an operator calls in C++ has the stack of the operator.
    add = next(event for event in prof.events() if event.name == "aten::add" and event.cpu_children)
    assert add.stack and all(child.stack == add.stack for child in add.cpu_children if child.name.startswith("aten::to"))


def test_stacks_of_operators_on_other_threads():
    def work():
        torch.ones(3).add(1)

    with profiler.profile(with_stack=True) as prof:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    add = next(event for event in prof.events() if event.name == "aten::add")
    assert add.stack[0].startswith(__file__) and add.stack[0].endswith(": work")


def test_ranges_of_torch_are_ranges(job):
    with profiler.profile() as prof:
        with torch.profiler.record_function("theirs"):
            train(*job)
    assert next(event for event in prof.events() if event.name == "theirs").is_user_annotation
    assert any(event.name.startswith("Optimizer.step#SGD") for event in prof.events())


def test_schedules_of_torch_are_schedules(job):
    plan = torch.profiler.schedule(wait=1, warmup=1, active=1)
    with profiler.profile(schedule=plan) as prof:
        for _ in range(3):
            train(*job)
            prof.step()
    assert prof.key_averages()


def test_a_script_has_its_own_lines():
    @torch.jit.script
    def scripted(x):
        return torch.relu(x + 1)

    scripted(torch.ones(3))
    with profiler.profile(with_stack=True) as prof:
        scripted(torch.ones(3))
    assert any("scripted" in frame for event in prof.events() if event.name == "aten::add" for frame in event.stack)


def test_execution_traces(job, tmp_path):
    observer = profiler.ExecutionTraceObserver().register_callback(str(tmp_path / "et.json"))
    assert observer.is_registered and observer.get_output_file_path().endswith("et.json")
    with profiler.profile(execution_trace_observer=observer):
        assert observer.is_running()
        train(*job)
    assert not observer.is_registered
    assert "aten::addmm" in (tmp_path / "et.json").read_text()


def test_ends_with_the_interpreter(tmp_path):
    code = f"""
import torch
from sonde.profiler import profile
prof = profile(output={str(tmp_path / 'unfinished.sonde')!r}, with_stack=True)
prof.start()
torch.ones(3) + 1
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert "aten::add" in [row.key for row in sonde.open(tmp_path / "unfinished.sonde").key_averages()]


@pytest.mark.skipif("SONDE" not in os.environ, reason="needs the program sonde")
def test_sonde_run_shows_pythons_lines(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import torch\n\ndef work():\n    return torch.ones(3).add(1)\n\nwork()\n")
    subprocess.run([os.environ["SONDE"], "run", "-q", "--stack", "-o", str(tmp_path / "run.sonde"), "--", sys.executable, str(script)], check=True)
    events = sonde.open(tmp_path / "run.sonde").events()
    add = next(event for event in events if event.name == "aten::add")
    assert add.stack == [f"{script}(4): work", f"{script}(6): <module>"]


TRAINING = """
import torch
net = torch.nn.Linear(4, 2)
optimizers = [torch.optim.SGD(net.parameters(), lr=0.1), torch.optim.Adam(net.parameters())]
for number in range(8):
    with torch.autograd.profiler.record_function(f"batch {number}"):
        net(torch.ones(3, 4)).sum().backward()
        for optimizer in optimizers:
            optimizer.step()
"""
INFERENCE = """
import torch
net = torch.nn.Linear(4, 2)
with torch.no_grad():
    for batch in torch.utils.data.DataLoader(torch.ones(24, 4), batch_size=2):
        net(batch).relu().sum()
"""


def run_of(program, tmp_path, *options):
    script = tmp_path / "script.py"
    script.write_text(program)
    subprocess.run([os.environ["SONDE"], "run", "-q", *options, "-o", str(tmp_path / "run.sonde"), "--", sys.executable, str(script)], check=True)
    return sonde.open(tmp_path / "run.sonde")


@pytest.mark.skipif("SONDE" not in os.environ, reason="needs the program sonde")
def test_sonde_run_records_the_steps_that_one_asks_for(tmp_path):
    trace = run_of(TRAINING, tmp_path, "--from-step", "3", "--steps", "2")
    names = [event.trace_name for event in trace.events()]
    # A step ends with the first optimizer's step. What ends there began before the window.
    assert [name for name in names if name.startswith("batch")] == ["batch 3", "batch 4"]
    assert [name for name in names if name.startswith("ProfilerStep")] == ["ProfilerStep#3", "ProfilerStep#4"]
    assert trace.metadata["steps_inferred_from"] == "Optimizer.step#SGD.step"


@pytest.mark.skipif("SONDE" not in os.environ, reason="needs the program sonde")
def test_sonde_run_knows_the_steps_of_a_program_without_optimizers(tmp_path):
    trace = run_of(INFERENCE, tmp_path)
    steps = [event.trace_name for event in trace.events() if event.trace_name.startswith("ProfilerStep")]
    assert steps == [f"ProfilerStep#{number}" for number in range(3, 12)]
    assert "after the last step" in {event.name for event in trace.events()}  # nobody knows whether it would have ended
    report = trace.report()
    assert report["steady"]["rule"] == "inferred"
    assert "each call of enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ counts as the end of one" in " ".join(str(report).split())


def module_path(trace, span):
    """`Net.fc1` for an operator in it."""
    names = []
    module = trace.spans["module"][span]
    while module is not None:
        row = trace.modules.row(module)
        names.insert(0, row["name"])
        module = row["parent"]
    return ".".join(names)


def test_operators_know_their_modules(job):
    with profiler.profile(with_modules=True) as prof:
        train(*job)
    trace = prof.trace()
    paths = {event.name: module_path(trace, event.span) for event in prof.events()}
    assert paths["aten::relu"] == "Net" and paths["aten::addmm"] == "Net.fc2"
    # A gradient belongs to the module of its operator.
    assert paths["ReluBackward0"] == "Net"
    names = [event.name for event in prof.events()]
    assert names.count("nn.Module: Net") == 1 and "nn.Module: Net.fc1" in names
    with profiler.profile() as prof:
        train(*job)
    assert not any(event.name.startswith("nn.Module") for event in prof.events()), "the hooks are gone"


def test_a_module_that_raises_leaves_nothing_open(job):
    class Fails(torch.nn.Module):
        def forward(self, x):
            raise KeyError

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Fails()

        def forward(self, x):
            try:
                return self.inner(x)
            except KeyError:
                return x

    with profiler.profile(with_modules=True) as prof:
        Outer()(torch.ones(2))
        train(*job)
    trace = prof.trace()
    relu = next(event for event in prof.events() if event.name == "aten::relu")
    assert module_path(trace, relu.span) == "Net"


PROGRAM = """
import sys, torch
from torch.profiler import profile, record_function, ProfilerActivity, schedule
plan = schedule(wait=0, warmup=1, active=1, repeat=1)
with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=lambda p: print(type(p).__module__)) as prof:
    for _ in range(2):
        with record_function("mine"):
            torch.ones(3).add(1)
        assert isinstance(prof.current_action, torch.profiler.ProfilerAction)
        prof.step()

@torch.jit.script
def scripted(x):
    with torch.profiler.record_function("scripted"):
        return x + 1

scripted(torch.ones(2))
with torch.autograd.profiler.profile() as old:
    torch.ones(2)
print(sorted({e.name for e in prof.events()} & {"mine", "aten::add"}), type(old).__module__, sys.argv[1:], __name__)
"""
ANSWER = "sonde.profiler._profile\n['aten::add', 'mine'] sonde.autograd.profiler ['--lr', '1'] __main__\n"


def test_stands_in_for_torchs_profilers(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    said = subprocess.run([sys.executable, "-m", "sonde", "program.py", "--lr", "1"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert said.stdout == ANSWER


@pytest.mark.skipif("SONDE" not in os.environ, reason="needs the program sonde")
def test_sonde_run_stands_in_for_torchs_profilers(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [os.environ["SONDE"], "run", "-q", "--as-torch-profiler", "-o", "run.sonde", "--", sys.executable, "program.py", "--lr", "1"]
    said = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert said.stdout == ANSWER
    # The whole program is recorded as well.
    assert "aten::add" in [row.key for row in sonde.open(tmp_path / "run.sonde").key_averages()]


STEPS = """
import torch
from torch.profiler import profile, schedule
weight = torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.SGD([weight], lr=0.1)
with profile(schedule=schedule(wait=2, warmup=1, active=2, repeat=1)) as prof:
    for _ in range(6):
        weight.sum().backward()
        optimizer.step()
        prof.step()
"""


@pytest.mark.skipif("SONDE" not in os.environ, reason="needs the program sonde")
def test_sonde_run_takes_the_steps_of_the_program(tmp_path):
    (tmp_path / "program.py").write_text(STEPS)
    command = [os.environ["SONDE"], "run", "-q", "--as-torch-profiler", "-o", "run.sonde", "--", sys.executable, "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True)
    trace = sonde.open(tmp_path / "run.sonde")
    spans = trace.spans
    steps = [spans["name"][row] for row in range(len(spans)) if spans["kind"][row] == "step"]
    assert steps == [f"ProfilerStep#{number}" for number in range(7)]  # the last one has begun
    assert "steps_inferred_from" not in trace.metadata and "marks no steps" not in str(trace.report())


NETWORK = """
import os, torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)
    def forward(self, x):
        return self.second(self.first(x).relu())
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    net(torch.ones(3, 4)).sum().backward()
    optimizer.step()
if not os.fork():
    net(torch.ones(3, 4))
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif("SONDE" not in os.environ, reason="needs the program sonde")
def test_sonde_run_knows_modules_and_what_tensors_are_for(tmp_path):
    trace = run_of(NETWORK, tmp_path, "--modules", "--shapes", "--memory")
    names = collections.Counter(event.name for event in trace.events())
    assert [names[f"nn.Module: {name}"] for name in ("Net", "Net.first", "Net.second")] == [3, 3, 3]
    roles = trace.tensor_roles
    purposes = collections.Counter(roles["purpose"][row] for row in range(len(roles)))
    assert purposes["parameter"] >= 4 and purposes["gradient"] >= 4 and purposes["optimizer_state"] >= 4
    # A window that begins later is told as well.
    later = run_of(NETWORK, tmp_path, "--modules", "--shapes", "--memory", "--from-step", "1", "--force").tensor_roles
    assert sum(later["purpose"][row] == "parameter" for row in range(len(later))) >= 4


def calls_in(trace):
    spans = trace.spans
    return [spans.row(row)["name"] for row in range(len(spans)) if spans.row(row)["kind"] == "python_function"]


@pytest.mark.skipif("SONDE" not in os.environ, reason="needs the program sonde")
def test_sonde_run_records_calls(tmp_path):
    trace = run_of(NETWORK, tmp_path, "--calls")
    names = collections.Counter(calls_in(trace))
    assert any(name.endswith("script.py(7): forward") for name in names), [name for name in names if "forward" in name]
    assert names["nn.Module: Net_0"] == 3 and names["nn.Module: Linear_1"] == 3
    assert names["<built-in function linear>"] == 6
    child = next(path for path in tmp_path.glob("run.*.sonde"))
    assert calls_in(sonde.open(child)).count("nn.Module: Net_0") == 1


def test_captured_graphs_by_pytorchs_rules():
    from sonde.dynamo import profiler as dynamo

    class Graph:
        def forward(self, x):
            return x.add(1).mul(2)

    graph = dynamo.fx_insert_profiling(Graph(), [])
    prof = dynamo.Profiler()
    with prof.prof:
        graph(torch.ones(2)).sub(1)
    result = prof.results()
    assert (result.unique_graphs, result.captured.graphs, result.captured.operators) == (1, 1, 2)
    assert str(result).startswith(" 1 graphs  1 graph calls    2/") and len(result.tocsv()) == 6
    assert prof.results().unique_graphs == 0


# A seccomp filter that ends the program for starting a thread.
SANDBOXED = """
import ctypes, platform, torch
ones = torch.ones(3)
ones + ones

class Rule(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("then", ctypes.c_uint8), ("other", ctypes.c_uint8), ("value", ctypes.c_uint32)]

class Filter(ctypes.Structure):
    _fields_ = [("count", ctypes.c_uint16), ("rules", ctypes.POINTER(Rule))]

LOAD, IF_EQUAL, RETURN, ALLOW, KILL = 0x20, 0x15, 0x06, 0x7fff0000, 0x80000000
clone = 56 if platform.machine() == "x86_64" else 220
rules = (Rule * 5)(Rule(LOAD, 0, 0, 0), Rule(IF_EQUAL, 2, 0, clone), Rule(IF_EQUAL, 1, 0, 435), Rule(RETURN, 0, 0, ALLOW),
                   Rule(RETURN, 0, 0, KILL))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0  # no new privileges
assert libc.prctl(22, 2, ctypes.byref(Filter(5, rules)), 0, 0) == 0
for _ in range(4000):
    ones + ones
"""


@pytest.mark.skipif("SONDE" not in os.environ, reason="needs the program sonde")
def test_programs_in_a_sandbox_get_no_threads_of_ours(tmp_path):
    counts = {row.key: row.count for row in run_of(SANDBOXED, tmp_path).key_averages()}
    assert counts["aten::add"] == 4001


def test_native_frames_are_below_the_line_that_called_them():
    x = torch.ones(2, 2)
    with profiler.profile(with_native_stack=True) as prof:
        for _ in range(2):
            x.add(1)
    adds = [event.stack for event in prof.events() if event.name == "aten::add"]
    assert len(adds) == 2 and adds[0] == adds[1]
    line = next(at for at, frame in enumerate(adds[0]) if "test_torch.py(" in frame)
    assert line > 0 and "torch" in adds[0][line - 1] and not any(".py(" in frame for frame in adds[0][:line])
    assert all(".py(" in frame or "<" in frame for frame in adds[0][line:])


def test_native_frames_are_not_there_unless_asked_for():
    with profiler.profile(with_stack=True) as prof:
        torch.ones(2, 2).add(1)
    stack = next(event.stack for event in prof.events() if event.name == "aten::add")
    assert "test_torch.py(" in stack[0]
