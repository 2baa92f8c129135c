# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch's profilers can be asked, Sonde's can be asked in the same way: the same names, order and defaults."""

import importlib
import inspect

import pytest

torch = pytest.importorskip("torch")

CLASSES = {
    "torch.profiler": ["profile", "_KinetoProfile", "ExecutionTraceObserver"],
    "torch.autograd.profiler": ["profile", "record_function", "emit_nvtx", "emit_itt", "EnforceUnique", "KinetoStepTracker"],
    "torch.autograd.profiler_util": ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel", "StringTable",
                                     "MemRecordsAcc", "FormattedTimesMixin"],
    "torch._dynamo.profiler": ["Profiler", "ProfileResult", "ProfileMetrics"],
}
FUNCTIONS = {
    "torch.profiler": ["schedule", "supported_activities", "tensorboard_trace_handler", "kineto_available"],
    "torch.autograd.profiler": ["load_nvprof", "parse_nvprof_trace"],
    "torch.cuda.profiler": ["start", "stop", "profile"],
    "torch.profiler.itt": ["is_available", "range_push", "range_pop", "mark", "range"],
    "torch._dynamo.profiler": ["fx_insert_profiling", "should_print_missing"],
}
# What torch 1 has and later versions do not.
GONE = {"cuda_time_str", "cuda_time_total_str", "self_cuda_time_total_str", "cuda_memory_usage", "ExecutionGraphObserver",
        "FunctionEvent(use_cuda)", "FunctionEvent(cuda_memory_usage)"}


def of(module, name):
    theirs = getattr(pytest.importorskip(module), name, None)
    ours = getattr(importlib.import_module(module.replace("torch", "sonde", 1).replace("_dynamo", "dynamo")), name, None)
    return theirs, ours


def parameters(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None  # a builtin


def _shown(default):
    return str(getattr(default, "name", default))


def differences(name, theirs, ours):
    expected, found = parameters(theirs), parameters(ours)
    if expected is None or found is None or any(one.kind == one.VAR_POSITIONAL for one in expected.values()):
        return
    expected = {one: of_it for one, of_it in expected.items() if f"{name}({one})" not in GONE}
    shared = [one for one in found if one in expected]
    if shared != list(expected):
        yield f"{name}: {list(expected)}, but Sonde has {list(found)}"
        return
    for one in expected.values():
        if one.kind != found[one.name].kind:
            yield f"{name}({one.name}): {one.kind}, but Sonde's is {found[one.name].kind}"
        if _shown(one.default) != _shown(found[one.name].default):
            yield f"{name}({one.name}={one.default}), but Sonde's is {found[one.name].default}"
    added = [one for one in found.values() if one.name not in expected]
    if any(one.default is one.empty and one.kind != one.VAR_POSITIONAL and one.kind != one.VAR_KEYWORD for one in added):
        yield f"{name}: Sonde wants more: {[one.name for one in added]}"


@pytest.mark.parametrize("module, name", [(module, name) for module, names in FUNCTIONS.items() for name in names])
def test_functions(module, name):
    theirs, ours = of(module, name)
    if theirs is None:
        pytest.skip("this torch has none")
    assert callable(ours) and not list(differences(name, theirs, ours))


@pytest.mark.parametrize("module, name", [(module, name) for module, names in CLASSES.items() for name in names])
def test_classes(module, name):
    theirs, ours = of(module, name)
    if theirs is None:
        pytest.skip("this torch has none")
    wrong = list(differences(name, theirs, ours)) if "__init__" in vars(theirs) else []
    for member in dir(theirs):
        value = getattr(theirs, member)
        if member.startswith("_") or member in GONE:
            continue
        if not hasattr(ours, member) and member not in dir(_made(ours)):
            wrong.append(f"{name}.{member}: Sonde has none")
        elif inspect.isfunction(value):
            wrong += differences(f"{name}.{member}", value, getattr(ours, member))
    assert not wrong


def _made(of_class):
    """An object with what only objects have, of an event."""
    return of_class(0, "", 0, 0, 1) if of_class.__name__ == "FunctionEvent" else of_class


def test_actions():
    ours = importlib.import_module("sonde.profiler").ProfilerAction
    assert all(ours[action.name].value == action.value for action in torch.profiler.ProfilerAction)


def test_all_public_names():
    for module in ("torch.profiler", "torch.autograd.profiler", "torch.autograd.profiler_util", "torch.cuda.profiler", "torch.profiler.itt"):
        theirs = importlib.import_module(module)
        ours = importlib.import_module(module.replace("torch", "sonde", 1))
        assert not [name for name in set(getattr(theirs, "__all__", [])) - GONE if not hasattr(ours, name)], module
