# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profilers, schedules and ranges, without torch."""

import asyncio
import collections
import concurrent.futures
import contextlib
import functools
import gc
import inspect
import json
import os
import re
import sys
import threading
import warnings

import pytest

import sonde
from sonde.autograd import profiler as autograd_profiler
from sonde.profiler import (ExecutionTraceObserver, ProfilerAction, ProfilerActivity, _ExperimentalConfig, _ITraceObserver,
                            _KinetoProfile, profile, record_function, schedule, supported_activities, tensorboard_trace_handler)

NONE, WARMUP, RECORD, SAVE = list(ProfilerAction)[:4]


def names(prof):
    return [event.name for event in prof.events()]


def test_has_pytorchs_arguments_in_its_order():
    given = list(inspect.signature(profile.__init__).parameters)
    assert given[:15] == ["self", "activities", "schedule", "on_trace_ready", "record_shapes", "profile_memory", "with_stack",
                          "with_flops", "with_modules", "experimental_config", "execution_trace_observer", "acc_events", "use_cuda",
                          "custom_trace_id_callback", "post_processing_timeout_s"]
    with pytest.raises(TypeError):
        profile([ProfilerActivity.CPU])
    sort = inspect.signature(autograd_profiler.EventList.sort).parameters
    assert list(sort) == ["self", "key", "reverse"] and sort["key"].kind is inspect.Parameter.KEYWORD_ONLY


def test_records_ranges_with_their_text(recorded):
    outer, inner = recorded.events()
    assert (outer.name, inner.name) == ("outer", "inner")
    assert inner.cpu_parent is outer and outer.is_user_annotation and outer.activity_type == "user_annotation"
    assert outer.cpu_time_total >= inner.cpu_time_total > 0
    assert "batch 3" in json.dumps(recorded.trace().spans.row(0)) or outer.arguments


def test_a_range_is_free_while_nothing_records():
    with record_function("unheard") as range_:
        assert range_._range is None
    assert not sonde.is_recording()


def test_the_name_of_a_range_is_a_text():
    with pytest.raises(TypeError, match="must be a str, not int"):
        record_function(3)


def test_a_decorated_function_may_call_itself():
    @record_function("depth")
    def depth(n):
        return depth(n - 1) if n else 0

    with profile() as prof:
        depth(3)
    assert list(prof.trace().spans["name"]).count("depth") == 4


def test_a_range_ends_with_a_future():
    with profile() as prof:
        future = concurrent.futures.Future()
        with record_function("waits") as range_:
            assert range_._call_end_callbacks_on_future(future) is future
            with pytest.raises(RuntimeError, match="only be called once"):
                range_._call_end_callbacks_on_future(future)
        with record_function("meanwhile"):
            pass
        future.set_result(1)
    waits, meanwhile = prof.events()
    assert waits.time_range.end >= meanwhile.time_range.end


def test_exceptions_pass_through_a_range_and_a_profiler():
    with pytest.raises(KeyError):
        with profile() as prof:
            with record_function("fails"):
                raise KeyError
    assert names(prof) == ["fails"]


@pytest.mark.parametrize("arguments, actions", [
    (dict(skip_first=3, wait=2, warmup=1, active=4, repeat=2),
     [NONE] * 3 + ([NONE] * 2 + [WARMUP] + [RECORD] * 3 + [SAVE]) * 2 + [NONE] * 4),
    (dict(skip_first=3, wait=5, warmup=1, active=2, repeat=2, skip_first_wait=1),
     [NONE] * 3 + [WARMUP, RECORD, SAVE] + [NONE] * 5 + [WARMUP, RECORD, SAVE] + [NONE] * 4),
])
def test_schedules_are_pytorchs(arguments, actions):
    plan = schedule(**arguments)
    assert [plan(step) for step in range(len(actions))] == actions
    with pytest.raises(AssertionError):
        plan(-1)


def test_a_wrong_schedule_is_an_assertion_error():
    with pytest.raises(AssertionError, match="wait=-1"):
        schedule(wait=-1, warmup=1, active=1)


def test_no_warmup_is_a_warning_with_pytorchs_text():
    with pytest.warns(UserWarning, match="^Profiler won't be using warmup, this can skew profiler results$") as caught:
        schedule(wait=0, warmup=0, active=1)
    assert caught[0].filename == __file__


def test_a_cycle_at_a_time():
    ready = []
    plan = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=lambda p: ready.append((p.step_num, names(p)))) as prof:
        for step in range(8):
            with record_function(f"work {step}"):
                pass
            prof.step()
    assert ready == [(4, ["ProfilerStep*", "work 2", "ProfilerStep*", "work 3"]), (8, ["ProfilerStep*", "work 6", "ProfilerStep*", "work 7"])]
    assert prof.step_num == 8


def test_all_cycles_with_acc_events():
    plan = schedule(wait=1, warmup=1, active=1, repeat=2)
    with profile(schedule=plan, acc_events=True) as prof:
        for step in range(6):
            with record_function(f"work {step}"):
                pass
            prof.step()
    assert [name for name in names(prof) if name.startswith("work")] == ["work 2", "work 5"]


def test_a_schedule_may_be_any_function():
    with profile(schedule=lambda step: ProfilerAction.RECORD_AND_SAVE if step == 1 else ProfilerAction.NONE) as prof:
        prof.step()
        assert prof.current_action == ProfilerAction.RECORD_AND_SAVE
        with record_function("here"):
            pass
        prof.step()
    assert "here" in names(prof)


@pytest.mark.filterwarnings("ignore")
def test_what_a_schedule_raises_is_raised():
    def plan(step):
        if step == 1:
            raise ZeroDivisionError("step 1")
        return ProfilerAction.RECORD

    prof = profile(schedule=plan)
    prof.start()
    with pytest.raises(ZeroDivisionError, match="step 1"):
        prof.step()
    with pytest.raises(ValueError, match="set internally"):
        profile(schedule=lambda step: ProfilerAction.DEVICE_STOPPED)
    with pytest.raises(ValueError, match="ProfilerAction"):
        profile(schedule=lambda step: "record")


def test_what_a_handler_raises_is_raised():
    def handler(prof):
        raise LookupError("handler")

    with pytest.raises(LookupError, match="handler"):
        with profile(on_trace_ready=handler):
            pass


def test_activities_are_checked():
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=[])
    with pytest.raises(ValueError, match="more than once"):
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CPU])
    with pytest.raises(TypeError):
        profile(activities=["CPU"])
    assert ProfilerActivity.CPU in supported_activities()
    profile(activities=iter([ProfilerActivity.CPU]))
    with pytest.warns(FutureWarning, match="use_cuda"):
        profile(use_cuda=False)


def test_there_are_no_results_before_a_recording():
    prof = profile()
    for ask in (prof.events, prof.key_averages, lambda: prof.export_chrome_trace("x.json")):
        with pytest.raises(AssertionError):
            ask()
    assert prof.get_trace_id() is None and prof.profiler is None


def test_exports_as_often_as_one_likes(recorded, tmp_path):
    for name in ("a.json", "a.json", "b.json.gz", "plain"):
        recorded.export_chrome_trace(str(tmp_path / name))
    assert sorted(os.listdir(tmp_path)) == ["a.json", "b.json.gz", "plain"]
    found = [event["name"] for event in json.loads((tmp_path / "plain").read_text())["traceEvents"] if event.get("ph") == "X"]
    assert "outer" in found
    recorded.save(tmp_path / "a.sonde")
    assert len(sonde.open(tmp_path / "a.sonde").events()) == 2


def test_export_stacks_needs_stacks(recorded, tmp_path):
    with pytest.raises(AssertionError, match="with_stack"):
        recorded.export_stacks(tmp_path / "a.stacks")
    with profile(with_stack=True) as prof:
        with record_function("here"):
            pass
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(str(tmp_path / "a.stacks"), "nothing")
    prof.export_stacks(str(tmp_path / "a.stacks"))
    assert "test_export_stacks_needs_stacks" in (tmp_path / "a.stacks").read_text()


def test_metadata_is_in_the_trace(tmp_path):
    with profile() as prof:
        prof.add_metadata("note", 'with "quotes"')
        prof.add_metadata_json("list", "[1, 2]")
        with pytest.raises(ValueError, match="bad"):
            prof.add_metadata_json("bad", "{")
    prof.export_chrome_trace(str(tmp_path / "a.json"))
    written = json.loads((tmp_path / "a.json").read_text())
    assert written["note"] == 'with "quotes"' and written["list"] == [1, 2]
    assert prof.trace().metadata["list"] == [1, 2]


def test_trace_ids_are_the_programs_or_random():
    with profile(custom_trace_id_callback=lambda: "my-id") as prof:
        pass
    assert prof.get_trace_id() == "my-id"
    with profile() as prof:
        pass
    assert len(prof.get_trace_id()) == 32


def test_tensorboard_handlers_write_a_file_a_cycle(tmp_path):
    plan = schedule(wait=0, warmup=1, active=1, repeat=2)
    with profile(schedule=plan, on_trace_ready=tensorboard_trace_handler(str(tmp_path / "log"), "worker", use_gzip=True)) as prof:
        for _ in range(4):
            prof.step()
    found = sorted(os.listdir(tmp_path / "log"))
    assert len(found) == 2 and all(name.startswith("worker.") and name.endswith(".pt.trace.json.gz") for name in found)


def test_profilers_may_overlap():
    with profile() as outer:
        with profile() as inner:
            with record_function("both"):
                pass
        with record_function("outer alone"):
            pass
    assert names(inner) == ["both"] and names(outer) == ["both", "outer alone"]


def test_all_threads_are_recorded():
    with profile() as prof:
        def work():
            with record_function("in a thread"):
                pass

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert names(prof).count("in a thread") == 4


def test_phases_by_hand():
    prof = _KinetoProfile()
    with pytest.raises(AssertionError):
        prof.start_trace()
    prof.prepare_trace()
    prof.start_trace()
    with record_function("here"):
        pass
    prof.stop_trace()
    assert names(prof) == ["here"]


def test_observers_of_the_program_are_started_and_stopped():
    calls = []

    class Observer(_ITraceObserver):
        def start(self):
            calls.append("start")

        def stop(self):
            calls.append("stop")

        def cleanup(self):
            calls.append("cleanup")

    with profile(execution_trace_observer=Observer(), schedule=schedule(wait=1, warmup=1, active=1)) as prof:
        for _ in range(3):
            prof.step()
    assert calls == ["start", "stop", "cleanup"]


def test_says_what_has_no_effect():
    with pytest.warns(UserWarning, match="profiler_metrics"):
        profile(experimental_config=_ExperimentalConfig(profiler_metrics=["x"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        profile(experimental_config=_ExperimentalConfig(verbose=True))
        profile(experimental_config=_ExperimentalConfig(disable_external_correlation=True))
    with pytest.raises(ValueError, match="non-negative"):
        profile(post_processing_timeout_s=-1)


def test_a_profiler_that_is_forgotten_stops():
    prof = profile()
    prof.start()
    assert sonde.is_recording()
    del prof
    gc.collect()
    assert not sonde.is_recording()


def test_a_child_of_fork_leaves_the_parents_recording_alone():
    with profile() as prof:
        with record_function("parent"):
            pass
        child = os.fork()
        if child == 0:
            prof.step()
            prof.stop()
            os._exit(0 if not sonde.is_recording() else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert names(prof) == ["parent"]


def test_the_older_profiler_too():
    with autograd_profiler.profile(enabled=False) as nothing:
        assert nothing is None
    with autograd_profiler.profile() as prof:
        assert str(prof) == "<unfinished torch.autograd.profile>"
        with pytest.raises(RuntimeError, match="still being recorded"):
            prof.table()
        with record_function("here"):
            pass
    assert [event.name for event in prof.function_events] == ["here"]
    assert "here" in prof.table() and prof.total_average().count == 1 and prof.self_cpu_time_total > 0
    with pytest.raises(RuntimeError, match="not reentrant"):
        prof.__enter__()
    with pytest.warns(UserWarning, match="not available"):
        autograd_profiler.profile(use_device="hpu")


def test_the_older_profiler_has_ids_and_switches():
    prof = autograd_profiler.profile(with_stack=True, custom_trace_id_callback=lambda: "mine")
    assert prof.create_trace_id() == "mine" and prof.config(create_trace_id=True).trace_id == "mine"
    assert len(prof.default_trace_id()) == 32 and int(prof.default_trace_id(), 16) and prof.config().with_stack
    assert not autograd_profiler._is_profiler_enabled
    with prof:
        assert autograd_profiler._is_profiler_enabled and prof.trace_id == "mine"
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
        with record_function("left out"):
            pass
        prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
        with record_function("kept"):
            pass
    assert [event.name for event in prof.function_events] == ["kept"]
    assert prof.__exit__(None, None, None) is False


def test_the_rest_of_autograd_profiler():
    unique = autograd_profiler.EnforceUnique()
    unique.see(1, 2)
    with pytest.raises(RuntimeError, match="duplicate"):
        unique.see(1, 2)
    tracker = autograd_profiler.KinetoStepTracker
    before = tracker.current_step()
    tracker.init_step_count("a")
    assert tracker.increment_step("a") == before + 1
    assert tracker.erase_step_count("a") and not tracker.erase_step_count("a")
    assert autograd_profiler.Interval(1, 3).elapsed_us() == 2

    class Record:
        def __init__(self, ns):
            self.start_ns = lambda: ns

    records = [(Record(ns), False) for ns in (9000, 1000, 3000, 3001)]
    found = autograd_profiler.MemRecordsAcc(records).in_interval(1, 3)
    assert [record.start_ns() for record, _ in found] == [1000, 3000]
    with autograd_profiler.emit_nvtx() as emitted:
        with pytest.raises(RuntimeError, match="NVTX annotation context manager is not reentrant"):
            emitted.__enter__()


def test_events_made_by_hand_add_up_as_pytorchs():
    parent = autograd_profiler.FunctionEvent(1, "parent", 1, 0, 10)
    child = autograd_profiler.FunctionEvent(2, "child", 1, 2, 5)
    parent.append_cpu_child(child)
    child.set_cpu_parent(parent)
    assert (parent.cpu_time_total, parent.self_cpu_time_total, child.self_cpu_time_total) == (10, 7, 3)
    average = autograd_profiler.FunctionEventAvg()
    average.add(parent)
    average += parent
    assert (average.count, average.cpu_time, average.cpu_time_total_str) == (2, 10, "20.000us")
    with pytest.raises(AssertionError):
        average.add(child)


def test_an_execution_trace_needs_torch_or_says_so(tmp_path):
    observer = ExecutionTraceObserver()
    assert not observer.is_registered and observer.get_output_file_path() is None
    observer.cleanup()


def test_calls_of_python_functions():
    def leaf(n):
        return len("x" * n)

    def fails():
        raise KeyError

    def generator():
        yield 1
        yield 2

    def work():
        leaf(3)
        list(generator())
        try:
            fails()
        except KeyError:
            pass

    with profile(with_calls=True) as prof:
        work()
        thread = threading.Thread(target=leaf, args=(4,))
        thread.start()
        thread.join()
    spans = prof.trace().spans
    rows = [spans.row(i) for i in range(len(spans))]
    calls = [row["name"] for row in rows if row["kind"] == "python_function"]

    def named(function):
        return [name for name in calls if name.endswith(f"({function.__code__.co_firstlineno}): {function.__name__}")]

    assert len(named(work)) == 1 and len(named(fails)) == 1 and len(named(leaf)) == 2, calls
    assert len(named(generator)) == 3, "each time that it runs"
    assert "<built-in function len>" in calls
    assert not any("sonde/" in name for name in calls), "the profiler's own calls are left out"
    parent_of_leaf = next(rows[row["parent"]]["name"] for row in rows if row["name"] in named(leaf) and row["parent"] is not None)
    assert parent_of_leaf.endswith(": work")
    # The frames that ran when recording began are there.
    assert any(name.endswith(": test_calls_of_python_functions") for name in calls)


def test_the_hook_is_gone_afterwards():
    with profile(with_calls=True):
        pass
    assert sys.getprofile() is None
    with profile() as prof:
        (lambda: None)()
    assert len(prof.trace().spans) == 0


class Counted:
    def __init__(self):
        self.value = sorted([3, 1])

    def __enter__(self):
        return self

    def __exit__(self, *why):
        "a,b".split(",")

    @property
    def half(self):
        return len(self.value) / 2


class Derived(Counted):
    def __init__(self):
        super().__init__()


def many_kinds_of_calls():
    def numbers():
        received = yield 1
        try:
            yield received
        except KeyError:
            yield from (x for x in "ab")

    async def waits():
        await asyncio.sleep(0)
        return [x for x in range(2)]

    def recursive(n):
        return n and recursive(n - 1)

    with Derived() as made:
        list(map(lambda x: x + 1, [1, 2]))
        assert made.half == 1.0
    generator = numbers()
    next(generator)
    generator.send(2)
    generator.throw(KeyError())
    generator.close()
    asyncio.new_event_loop().run_until_complete(waits())
    recursive(3)
    for _ in range(2):
        with contextlib.suppress(ZeroDivisionError, ValueError):
            int("x") if _ else divmod(1, 0)
    {}.setdefault("a", []).append(str.join(",", ["a", "b"]))
    sorted([3, 1, 2], key=functools.cmp_to_key(lambda x, y: x - y))


def test_calls_are_those_that_pythons_profile_hook_tells():
    expected = collections.Counter()

    def tell(frame, event, argument):
        if event == "call":
            expected[frame.f_code.co_name] += 1
        elif event == "c_call":
            expected[argument.__name__] += 1

    many_kinds_of_calls()
    sys.setprofile(tell)
    many_kinds_of_calls()
    sys.setprofile(None)
    with profile(with_calls=True) as prof:
        many_kinds_of_calls()
    spans = prof.trace().spans
    around = list(spans["name"]).index(next(name for name in spans["name"] if name.endswith(": many_kinds_of_calls")))

    def is_inside(row):
        while row is not None and row != around:
            row = spans["parent"][row]
        return row == around

    found = collections.Counter()
    for row in filter(is_inside, range(len(spans))):
        name = spans["name"][row]
        found[name.rpartition(": ")[2] if "): " in name else re.match(r"<(?:built-in|method|slot)\S* (?:function|method) (\w+)", name).group(1)] += 1
    expected.subtract({"setprofile": 1})
    assert found == +expected


def test_other_tools_are_left_alone():
    seen = []
    sys.setprofile(lambda *event: seen.append(event[1]))
    tools = range(6) if hasattr(sys, "monitoring") else ()
    for tool in tools:
        sys.monitoring.use_tool_id(tool, "other")
    try:
        with pytest.warns(UserWarning, match="calls are not recorded: other tools use"):
            with profile(with_calls=True):
                pass
        assert sys.getprofile() is not None
    finally:
        sys.setprofile(None)
        for tool in tools:
            sys.monitoring.free_tool_id(tool)


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="needs Python 3.12")
def test_calls_are_recorded_beside_other_tools():
    sys.setprofile(lambda *event: None)
    sys.monitoring.use_tool_id(sys.monitoring.PROFILER_ID, "other")
    try:
        with profile(with_calls=True) as prof:
            (lambda: None)()
    finally:
        sys.setprofile(None)
        sys.monitoring.free_tool_id(sys.monitoring.PROFILER_ID)
    assert any(name.endswith("<lambda>") for name in prof.trace().spans["name"])
    assert all(sys.monitoring.get_tool(tool) is None for tool in range(6))


def test_garbage_collection_has_spans():
    with profile(experimental_config=_ExperimentalConfig(record_python_gc_info=True)) as prof:
        gc.collect()
    assert "Python GC" in list(prof.trace().spans["name"])
    with profile() as prof:
        gc.collect()
    assert len(prof.trace().spans) == 0


def test_a_profiler_can_be_asked_while_its_handler_runs():
    asked = []

    def handler(prof):
        # Another thread asks while the profiler waits for this one.
        thread = threading.Thread(target=lambda: asked.append(sonde.is_recording()))
        thread.start()
        thread.join()
        asked.append(prof.step_num)

    stop = threading.Event()
    with profile(schedule=schedule(wait=0, warmup=1, active=1), on_trace_ready=handler) as prof:
        def ask():
            while not stop.is_set():
                prof.step_num

        asker = threading.Thread(target=ask)
        asker.start()
        for _ in range(20):
            prof.step()
        stop.set()
        asker.join()
    assert len(asked) >= 20
