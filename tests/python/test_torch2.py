# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile and what else torch has only from 2 on. Wherever both can say it, what Sonde recorded is what torch's own profiler
recorded."""

import collections
import contextlib
import json

import pytest

import sonde
from sonde.autograd import profiler as autograd_profiler
from sonde.profiler import ExecutionTraceObserver, ProfilerActivity, profile, record_function, schedule

torch = pytest.importorskip("torch")
if not hasattr(torch, "compile"):
    pytest.skip("needs torch 2", allow_module_level=True)
import torch._dispatch.python  # noqa: E402
import torch._dynamo  # noqa: E402
import torch._dynamo.testing  # noqa: E402

CPU = [ProfilerActivity.CPU]
THEIRS = [torch.profiler.ProfilerActivity.CPU]


@pytest.fixture(autouse=True)
def adapter():
    try:
        sonde._native.attach_torch()
    except RuntimeError as error:
        pytest.skip(f"no adapter for this torch: {error}")
    torch._dynamo.reset()


def names(events):
    return [event.name for event in events]


def under_both(make):
    """The names of the events of two runs of `make()()`: torch's profiler's and Sonde's. Each compiles anew."""
    found = []
    for kind, activities in ((torch.profiler.profile, THEIRS), (profile, CPU)):
        torch._dynamo.reset()
        work = make()
        with kind(activities=activities) as prof:
            work()
        found.append(names(prof.events()))
    return found


def compiled(function, **options):
    return torch.compile(function, **{"backend": "aot_eager", **options})


def test_parts_of_a_compilation_are_ranges():
    timed = torch._dynamo.utils.dynamo_timed

    def inner(x):
        with timed("inner"):
            return x.sin()

    with profile(activities=CPU) as prof:
        inner(torch.ones(2)) * 2
    assert any("inner (dynamo_timed)" in name for name in names(prof.events()))

    theirs, ours = under_both(lambda: lambda: compiled(lambda x: x.sin() * x.cos())(torch.ones(2, 2)))
    expected = {name for name in theirs if "(dynamo_timed)" in name}
    assert expected and {name for name in ours if "(dynamo_timed)" in name} == expected
    assert any("call_user_compiler" in name for name in expected)


def test_compilations_show_dynamo_and_the_inductor():
    theirs, ours = under_both(lambda: lambda: compiled(lambda x: x * 2 + torch.sin(x), backend="inductor")(torch.ones(10, 10)))
    for part in ("dynamo", "inductor"):
        assert any(part in name.lower() for name in ours) and any(part in name.lower() for name in theirs)


@pytest.mark.parametrize("function, shapes", [
    (lambda x, y, z: x @ y + z, [[(15, 16), (16, 17), (15, 17)], [(15, 15), (15, 16), (15, 16)], [(16, 16)] * 3]),
    (lambda x, y, z: x @ y + z, [[(15, 16), (16, 17), (15, 17)]]),
    (lambda x, y, z: torch.cat([x, y], dim=0) + z, [[(4, 16), (12, 16), (16, 16)]]),
])
def test_shapes_that_change_are_recorded(function, shapes, monkeypatch):
    monkeypatch.setattr(torch._dynamo.config, "assume_static_by_default", False)
    inputs = [torch.rand(shape) for shape in shapes[-1]]
    found = []
    for kind, activities in ((torch.profiler.profile, THEIRS), (profile, CPU)):
        torch._dynamo.reset()
        work = compiled(function, dynamic=True, fullgraph=True)
        for some in shapes[:-1]:
            work(*(torch.rand(shape) for shape in some))
        with kind(activities=activities, record_shapes=True) as prof:
            result = work(*inputs)
        assert torch.equal(result, function(*inputs))
        found.append(collections.Counter((event.name, str(event.input_shapes)) for event in prof.events() if event.name.startswith("aten::")))
    if len(shapes) > 1:  # else the recording has the compilation too
        assert found[0] == found[1]
    assert found[1]


def test_execution_traces_of_compiled_programs(tmp_path):
    observer = ExecutionTraceObserver()
    work = compiled(lambda x, y, z: x @ y + z, dynamic=True)
    observer.register_callback(str(tmp_path / "et.json"))
    observer.start()
    work(*(torch.rand(4, 4) for _ in range(3)))
    observer.stop()
    observer.unregister_callback()
    assert "aten::mm" in {node["name"] for node in json.loads((tmp_path / "et.json").read_text())["nodes"]}


@pytest.mark.parametrize("kind", [profile, autograd_profiler.profile])
def test_each_call_of_a_compiled_function_looks_into_the_cache_once(kind):
    def polynomial(x):
        return (x**2 + 2)**3

    x = torch.randn(2, 2, requires_grad=True)
    work = compiled(polynomial)
    work(x)
    with kind() as prof:
        result = work(x)
    events = prof.function_events if kind is autograd_profiler.profile else prof.events()
    assert torch.equal(result, polynomial(x))
    assert sum("TorchDynamo Cache Lookup" in name for name in names(events)) == 1


def test_lookups_are_in_recorded_steps():
    work = compiled(lambda x: x.sub(1).add(2))
    prof = profile(activities=CPU, schedule=schedule(wait=2, warmup=2, active=2, repeat=1))
    prof.start()
    for _ in range(10):
        work(torch.ones(3))
        prof.step()
    prof.stop()
    assert names(prof.events()).count("TorchDynamo Cache Lookup") == 2


def test_exported_programs_know_that_they_are_profiled():
    class Branch(torch.nn.Module):
        def forward(self, x):
            x = torch.sin(x)
            return torch.cos(x) if torch.autograd._profiler_enabled() else torch.sigmoid(x)

    module, x = Branch(), torch.randn(4)
    for recording in (contextlib.nullcontext(), autograd_profiler.profile()):
        with recording:
            expected = module(x)
            exported = torch._dynamo.export(module, (x))
            assert torch.equal(exported.graph_module(x), expected)


def test_regions_are_annotated_in_order():
    def make():
        def broken(x, y):
            rows = y.sum(dim=1)
            print(rows.shape)
            return x * rows

        work = compiled(broken, backend="eager")

        def run():
            work(torch.ones(10), torch.ones(10, 10))
            work(torch.ones(10), torch.ones(10, 15))

        return run

    theirs, ours = under_both(make)
    regions = [name for name in ours if "Torch-Compiled Region" in name]
    assert regions == [name for name in theirs if "Torch-Compiled Region" in name]
    assert len(regions) == 4


@pytest.mark.skipif(not hasattr(torch._dynamo.config, "capture_profiler_record_function"), reason="this torch does not keep ranges")
@pytest.mark.parametrize("breaks", ["nowhere", "between", "within"])
def test_ranges_that_a_graph_keeps(breaks):
    range_of = torch.profiler.record_function

    def work(x):
        with range_of("my first"):
            x = x.sin()
            if breaks == "within":
                torch._dynamo.graph_break()
            x = x.cos()
        if breaks == "between":
            torch._dynamo.graph_break()
        with range_of("my second"):
            return x + 2

    with torch._dynamo.config.patch("capture_profiler_record_function", True):
        graphs = torch._dynamo.testing.AotEagerAndRecordGraphs()
        made = torch.compile(work, backend=graphs)
        x = torch.randn(10)
        made(x)
        with profile(activities=CPU) as prof:
            result = made(x)
    assert torch.equal(result, work(x))
    assert [name for name in names(prof.events()) if name.startswith("my ")] == ["my first", "my second"]
    if breaks != "within":
        assert "_record_function_enter_new" in graphs.graphs[0].code
        assert len(graphs.graphs) == (2 if breaks == "between" else 1)


def test_modes_and_subclasses_in_python_are_seen():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            made = torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            plain = [one.inner if isinstance(one, Wrapper) else one for one in args]
            return Wrapper(func(*plain, **(kwargs or {})))

    def work():
        with torch._dispatch.python.enable_python_dispatcher(), Mode():
            torch.sin(torch.ones(3, 4))
        torch.cos(Wrapper(torch.ones(3)))

    work()
    found = []
    for kind, activities in ((torch.profiler.profile, THEIRS), (profile, CPU)):
        with kind(activities=activities) as prof:
            work()
        found.append(collections.Counter(name for name in names(prof.events()) if name.startswith("Python")))
    assert found[0] == found[1] and {"PythonDispatchMode", "PythonSubclass"} <= set(found[1])


def test_profiling_compiles_nothing_anew():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(4, 4)

        def forward(self, x):
            return self.inner(x).relu()

    graphs = torch._dynamo.testing.CompileCounter()
    net = torch.compile(Net(), backend=graphs)
    net(torch.ones(2, 4))
    before = graphs.frame_count
    found = {}
    # Not with_modules: its hooks are in the way of the graphs.
    for options in ({}, {"with_stack": True}, {"with_calls": True}, {"record_shapes": True, "profile_memory": True}):
        for _ in range(2):
            with profile(activities=CPU, **options):
                net(torch.ones(2, 4))
        found[str(options)] = graphs.frame_count - before
        before = graphs.frame_count
    assert not any(found.values()), found


@pytest.mark.parametrize("options", [{}, {"record_shapes": True, "profile_memory": True}, {"with_modules": True}, {"with_calls": True}])
def test_graphs_that_are_compiled_while_recording_are_whole(options):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())

        def forward(self, x):
            with record_function("forward"):
                return self.inner(x).relu()

    graphs = torch._dynamo.testing.CompileCounter()
    with profile(activities=CPU, **options):
        torch.compile(Net(), backend=graphs, fullgraph=True)(torch.ones(2, 4))
    assert graphs.frame_count == 1


def test_ranges_need_no_profiler_in_a_graph():
    def work(x):
        with record_function("quiet"):
            return x + 1

    assert torch.equal(torch.compile(work, backend="eager", fullgraph=True)(torch.ones(2)), torch.full((2,), 2.0))


def test_fast_ranges_of_torch_are_seen():
    x = torch.rand(4, 4)
    with profile(activities=CPU, record_shapes=True) as prof:
        with torch._C._profiler._RecordFunctionFast("fast", [x], {"grid": "(1,)"}):
            x.add(1)
    fast = next(event for event in prof.events() if event.name == "fast")
    assert fast.input_shapes == [[4, 4]] and fast.kwinputs == {"grid": "(1,)"}
    assert [child.name for child in fast.cpu_children] == ["aten::add"]
    assert isinstance(torch._C._profiler._RecordFunctionFast, type), "torch has its own again"
    with torch.profiler.profile(activities=THEIRS) as theirs, profile(activities=CPU) as ours:
        with torch._C._profiler._RecordFunctionFast("both"):
            pass
    assert names(theirs.events()).count("both") == names(ours.events()).count("both") == 1


def test_parameters_of_compiled_modules_are_known():
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    work = torch.compile(net, backend="aot_eager")
    with torch.no_grad():
        work(torch.ones(2, 8))
        with profile(activities=CPU, record_shapes=True, profile_memory=True) as prof:
            work(torch.ones(2, 8))
    roles = prof.trace().tensor_roles
    assert sum(roles["purpose"][row] == "parameter" for row in range(len(roles))) == 4
