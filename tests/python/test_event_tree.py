# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tree of events is the one that torch's own profiler makes."""

import re

import pytest

import sonde
from sonde.profiler import ProfilerActivity, profile
from sonde.profiler._event_tree import EventType

torch = pytest.importorskip("torch")
CPU = [ProfilerActivity.CPU]


@pytest.fixture(autouse=True)
def adapter():
    try:
        sonde._native.attach_torch()
    except RuntimeError as error:
        pytest.skip(f"no adapter for this torch: {error}")


def tree_of(prof):
    return prof.profiler.kineto_results.experimental_event_tree()


def shown(events):
    """Names, and what is below them, as nested lists."""
    return [[plain(event.name() if callable(event.name) else event.name), shown(event.children)] for event in events]


def plain(name):
    """Without addresses, and without the names of functions of pybind11, which torch 1.13 confuses."""
    return re.sub(r"method \w* of PyCapsule", "method of PyCapsule", re.sub(r" at 0x[0-9a-f]+", "", name))


def below(events, function):
    """The children of the call of a function, wherever it is."""
    for event in events:
        name = event.name() if callable(event.name) else event.name
        if name.endswith(f": {function}"):
            return shown(event.children)
        found = below(event.children, function)
        if found is not None:
            return found
    return None


def both(work, **options):
    """The trees of torch's profiler and of Sonde's, of two runs."""
    work()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **options) as theirs:
        work()
    with profile(activities=CPU, with_calls=options.get("with_stack", False), **options) as ours:
        work()
    return tree_of(theirs), tree_of(ours)


def backward():
    t1, t2 = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    z = torch.add(t1, t2)
    y = torch.ones(1)
    loss = torch.pow(y - z, 2)
    loss.backward()


def test_operators_nest_as_in_pytorch():
    theirs, ours = both(backward)
    assert shown(ours) == shown(theirs) and len(ours) > 5
    gradient = next(event for event in ours if event.name.endswith("PowBackward0"))
    assert gradient.children[0].parent is gradient and gradient.children[0].tag == EventType.TorchOp
    assert gradient.start_time_ns <= gradient.children[0].start_time_ns <= gradient.children[0].end_time_ns <= gradient.end_time_ns


def test_ranges_are_around_their_operators():
    def work():
        range_of = torch.autograd.profiler.record_function
        with range_of("outer"):
            with range_of("first"):
                x = torch.ones((1,), requires_grad=True)
            unfinished = range_of("second").__enter__()
            y = x + 1
            with range_of("third"):
                y.backward()
        del unfinished

    theirs, ours = both(work)
    assert shown(ours) == shown(theirs)
    # torch 1.13 makes tensors to begin ranges.
    outer = next(children for name, children in shown(ours) if name == "outer")
    ranges = {name: children for name, children in outer if not name.startswith("aten::")}
    assert list(ranges) == ["first", "second"] and "third" in [name for name, _ in ranges["second"]]


def test_allocations_are_below_their_operators():
    theirs, ours = both(backward, profile_memory=True)
    assert shown(ours) == shown(theirs)
    memory = [child for event in ours for child in event.children if child.tag == EventType.Allocation]
    assert memory and all(event.extra_fields.alloc_size != 0 and event.extra_fields.device[0] == "cpu" for event in memory)


def test_calls_are_around_operators_and_allocations():
    theirs, ours = both(backward, profile_memory=True, with_stack=True)
    expected = below(theirs, "backward")
    assert expected and below(ours, "backward") == expected


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [torch.nn.ReLU(), torch.nn.Linear(1, 1), torch.nn.ReLU()]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def test_modules_have_their_names_and_numbers():
    net = Net()

    def twice():
        for _ in range(2):
            net(torch.ones((1,)))

    theirs, ours = both(twice, with_stack=True)
    expected = below(theirs, "twice")
    assert expected and below(ours, "twice") == expected
    text = str(expected)
    assert text.count("nn.Module: Net_0") == 2 and text.count("nn.Module: ReLU_1") == 2


class FunctionTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs)


def test_functions_of_subclasses_are_below_what_calls_them():
    x, y = FunctionTensor(torch.ones((1,))), torch.ones((1,))

    def work():
        torch.add(x, y)

    theirs, ours = both(work, with_stack=True)
    expected = below(theirs, "work")
    assert expected and below(ours, "work") == expected and "__torch_function__" in str(expected)


class DispatchTensor(torch.Tensor):
    @staticmethod
    def __new__(cls, elem):
        made = torch.Tensor._make_subclass(cls, elem, elem.requires_grad)
        made.elem = elem
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain = [one.elem if isinstance(one, DispatchTensor) else one for one in args]
        return DispatchTensor(func(*plain, **(kwargs or {})))


def test_dispatch_to_python_is_below_its_operator():
    x, y = DispatchTensor(torch.ones((1,))), torch.ones((1,))

    def work():
        x + y

    theirs, ours = both(work, with_stack=True)
    expected = below(theirs, "work")
    assert expected and below(ours, "work") == expected
    assert "aten::add" in str(expected) and "__torch_dispatch__" in str(expected)


def test_callers_are_the_calls_around():
    def walk(events):
        for event in events:
            yield event
            yield from walk(event.children)

    _, ours = both(backward, with_stack=True)
    calls = [event for event in walk(ours) if event.tag in (EventType.PyCall, EventType.PyCCall)]
    for event in calls:
        around = event.parent
        while around is not None and around.tag != EventType.PyCall:
            around = around.parent
        if around is not None:
            assert event.extra_fields.caller == around.extra_fields.callsite
    assert any(event.extra_fields.callsite.function_name == "backward" for event in calls if event.tag == EventType.PyCall)


def test_work_of_a_gpu_is_below_the_call_that_launched_it(transformer):
    """From a recording of a GPU."""
    roots = sonde.profiler._kineto_results.KinetoResults(transformer).experimental_event_tree()
    found = {}

    def walk(event, path):
        path = path + [event]
        if event.tag == EventType.Kineto and event.extra_fields.activity_type in ("kernel", "gpu_memcpy", "gpu_memset"):
            found.setdefault(event.extra_fields.activity_type, []).append(path)
        for child in event.children:
            walk(child, path)

    for root in roots:
        walk(root, [])
    assert len(found["kernel"]) > 100
    for path in found["kernel"]:
        assert path[-2].extra_fields.activity_type in ("cuda_runtime", "cuda_driver") and path[-2].correlation_id == path[-1].correlation_id
        assert "Launch" in path[-2].name
        assert path[-3].tag in (EventType.TorchOp, EventType.PyCall, EventType.PyCCall)
    assert all("Memcpy" in path[-2].name or "memcpy" in path[-2].name for path in found["gpu_memcpy"])
    # Several streams are in one tree.
    assert {path[0].start_tid for path in found["kernel"]}


def test_trees_are_what_helpers_of_torch_take():
    """PyTorch's own evaluations and patterns, over a recording of Sonde's."""
    utils = pytest.importorskip("torch.profiler._utils")
    with profile(activities=CPU, with_stack=True, with_calls=True, profile_memory=True) as prof:
        x = torch.ones(10, 10)
        for _ in range(3):
            x = x @ x
            x = x + x
    evaluated = utils.BasicEvaluation(prof.profiler)
    every = list(utils.traverse_dfs(tree_of(prof)))
    assert len(evaluated.metrics) == len(every) > 30
    for key, metrics in evaluated.metrics.items():
        below_it = sum(child.duration_time_ns for child in key.event.children)
        assert metrics.self_time_ns == key.event.duration_time_ns - below_it
    assert not evaluated.compute_queue_depth()  # nothing was launched


def test_patterns_of_torch_find_the_same_events():
    patterns = pytest.importorskip("torch.profiler._pattern_matcher")
    with profile(activities=CPU) as prof:
        x = torch.ones(10, 10)
        for _ in range(3):
            x = x @ x
            x = x + x
    tree = tree_of(prof)
    assert tree_of(prof) == tree
    pattern = patterns.Pattern(prof)
    first = tree[0]
    assert pattern.siblings_of(first) == ([], tree[1:])
    assert pattern.siblings_of(first.children[0]) == ([], first.children[1:])
    assert pattern.root_of(first.children[0]) is first
    assert pattern.next_of(first) is tree[1] and pattern.prev_of(tree[1]) is first and pattern.next_of(tree[-1]) is None
    by_name = patterns.NamePattern(prof, "aten::mm").matched_events()
    assert [event.name for event in by_name] == 3 * ["aten::mm"]


def test_loops_over_the_elements_of_a_tensor_are_a_pattern_of_torch():
    patterns = pytest.importorskip("torch.profiler._pattern_matcher")
    x = torch.empty(20, 20)
    with profile(activities=CPU, with_stack=True, with_calls=True) as prof:
        for at in range(20):
            x[at] = at
    assert len(patterns.ForLoopIndexingPattern(prof).matched_events()) == 1
