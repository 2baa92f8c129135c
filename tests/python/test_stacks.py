# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's own lines: what `with_stack` records is what `traceback` says."""

import asyncio
import random
import threading
import traceback

import pytest

from sonde import _native
from sonde.profiler import profile, record_function

pytestmark = pytest.mark.skipif(not _native.has_python_stacks(), reason="frames of this interpreter are not known")

seen = []


def mark(name):
    """A range, and where it began: innermost first."""
    with record_function(name):
        here = traceback.extract_stack()
    place = [f"{frame.filename}({frame.lineno}): {frame.name}" for frame in reversed(here)]
    seen.append((name, place))


def recorded_and_seen(work):
    seen.clear()
    with profile(with_stack=True) as prof:
        work()
    recorded = [(event.name, event.stack) for event in prof.events()]
    # The range begins a line before the stack is taken.
    expected = [(name, [place[0].replace(str(_line(place[0])), str(_line(place[0]) - 1))] + place[1:]) for name, place in seen]
    return sorted(recorded), sorted(expected)


def _line(place):
    return int(place[place.rindex("(") + 1:place.rindex(")")])


def test_calls_and_recursion():
    def down(n):
        mark(f"level {n}")
        if n:
            down(n - 1)

    recorded, expected = recorded_and_seen(lambda: down(5))
    assert recorded == expected and len(recorded) == 6


def test_generators_comprehensions_and_lambdas():
    def generator():
        for i in range(3):
            mark(f"generated {i}")
            yield i

    def work():
        list(generator())
        [mark(f"listed {i}") for i in range(2)]
        (lambda: mark("lambda"))()

    recorded, expected = recorded_and_seen(work)
    assert recorded == expected


def test_coroutines_that_were_suspended():
    async def inner(i):
        await asyncio.sleep(0)
        mark(f"coroutine {i}")

    async def outer():
        await asyncio.gather(*(inner(i) for i in range(3)))

    recorded, expected = recorded_and_seen(lambda: asyncio.run(outer()))
    assert recorded == expected


def test_threads():
    def work():
        threads = [threading.Thread(target=mark, args=(f"thread {i}",)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    recorded, expected = recorded_and_seen(work)
    assert recorded == expected


def test_the_same_line_called_from_two_places():
    def work():
        mark("first")
        mark("second")

    recorded, expected = recorded_and_seen(work)
    assert recorded == expected and recorded[0][1][1] != recorded[1][1][1]


def test_code_that_was_freed_and_made_again():
    recorded = []
    for i in range(50):
        # Code of the same length takes the memory of the code before it.
        code = compile(f"\n\ndef made_{i:02}():\n  mark('of made')\n", f"made_{i:02}.py", "exec")
        space = {"mark": mark}
        exec(code, space)
        with profile(with_stack=True) as prof:
            space[f"made_{i:02}"]()
        recorded.append(prof.events()[0].stack[1])
        del code, space
    assert recorded == [f"made_{i:02}.py(4): made_{i:02}" for i in range(50)]


def test_names_of_any_letters():
    space = {"mark": mark}
    exec(compile("def naïve_函数():\n  mark('unicode')\n", "päth/файл.py", "exec"), space)
    with profile(with_stack=True) as prof:
        space["naïve_函数"]()
    assert prof.events()[0].stack[1] == "päth/файл.py(2): naïve_函数"


def test_paths_that_differ_in_any_frame():
    choose = random.Random(1)

    def generated(n):
        yield from (step(n) for _ in range(2))

    async def awaited(n):
        await asyncio.sleep(0)
        step(n)

    async def two(n):
        await asyncio.gather(awaited(n), awaited(n - 1))

    def deeper(n):
        return step(n)

    def step(n):
        mark(f"at {n}")
        if n <= 0:
            return
        for _ in range(choose.randint(0, 2)):
            way = choose.randint(0, 3)
            if way == 0:
                step(n - 1)
            elif way == 1:
                deeper(n - choose.randint(1, 3)); mark(f"after {n}")  # noqa: E702
            elif way == 2:
                list(generated(n - 2))
            else:
                [deeper(n - 1) for _ in range(2)]

    def work():
        for _ in range(20):
            step(12)
        asyncio.run(two(6))
        step(3)

    recorded, expected = recorded_and_seen(work)
    assert recorded == expected and len(recorded) > 200


def test_deep_stacks_keep_their_inner_end():
    def down(n):
        return down(n - 1) if n else mark("deep")

    with profile(with_stack=True) as prof:
        down(400)
    stack = prof.events()[0].stack
    assert len(stack) in (255, 256) and stack[1].endswith("down")


def test_nothing_is_kept_without_being_asked():
    with profile() as prof:
        mark("plain")
    assert prof.events()[0].stack == []
