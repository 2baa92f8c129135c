# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recording while something ends: the interpreter, a block, a process. Each in a process of its own."""

import subprocess
import sys
import textwrap
import weakref

import pytest

import sonde
from sonde.profiler import profile


def run(code, *arguments):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def names(trace, kind=None):
    spans = trace.spans
    return [spans["name"][row] for row in range(len(spans)) if kind is None or spans["kind"][row] == kind]


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="needs _xxsubinterpreters")
def test_subinterpreters_are_refused():
    assert "subinterpreter" in run("""
        import _xxsubinterpreters as interpreters
        import sonde
        try:
            interpreters.run_string(interpreters.create(), "import sonde")
            print("loaded")
        except Exception as error:
            print(error)
        """)


def test_the_interpreter_may_end_while_recording(tmp_path):
    path = tmp_path / "end.sonde"
    run("""
        import atexit, sys
        from sonde.profiler import profile, record_function
        atexit.register(lambda: record_function("at exit").__enter__())
        prof = profile(with_calls=True, with_stack=True, output=sys.argv[1])
        prof.start()
        with record_function("work"):
            pass
        """, path)
    assert {"work", "at exit"} <= set(names(sonde.open(path)))


def test_threads_may_go_on_when_the_interpreter_ends():
    run("""
        import threading
        from sonde.profiler import profile, record_function
        prof = profile(with_calls=True, with_stack=True)
        prof.start()
        begun = threading.Event()

        def work():
            while True:
                with record_function("work"):
                    begun.set()

        threading.Thread(target=work, daemon=True).start()
        begun.wait()
        """)


def test_modules_die_when_the_program_lets_them():
    torch = pytest.importorskip("torch")
    alive = []
    with profile(with_calls=True, with_modules=True, with_stack=True, record_shapes=True, profile_memory=True) as prof:
        for _ in range(5):
            module = torch.nn.Tanh()
            alive.append(weakref.ref(module))
            module(torch.ones(1))
            del module
        last = torch.nn.Tanh()
        last(torch.ones(1))
        assert [one() for one in alive] == 5 * [None]
    called = [name for name in names(prof.trace(), "python_function") if name.startswith("nn.Module: ")]
    assert called == [f"nn.Module: Tanh_{number}" for number in range(6)]


def test_an_interrupt_ends_the_block_and_loses_nothing():
    assert run("""
        import signal
        from sonde.profiler import profile, record_function
        try:
            with profile(with_calls=True, with_stack=True) as prof:
                with record_function("work"):
                    signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            print([event.name for event in prof.events()])
        """) == "['work']"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_loader_leave_the_recording_alone(tmp_path, method):
    pytest.importorskip("torch")
    try:
        sonde._native.attach_torch()
    except RuntimeError as error:
        pytest.skip(f"no adapter for this torch: {error}")
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent("""
        import sys
        import torch
        from sonde.profiler import ProfilerActivity, profile

        class Rows(torch.utils.data.Dataset):
            def __len__(self):
                return 6

            def __getitem__(self, at):
                return torch.full((2,), float(at)).add(1)

        if __name__ == "__main__":
            loader = torch.utils.data.DataLoader(Rows(), batch_size=2, num_workers=2, multiprocessing_context=sys.argv[1])
            with profile(activities=[ProfilerActivity.CPU], with_stack=True) as prof:
                total = sum(float(batch.mul(2).sum()) for batch in loader)
            print(total, sum(event.name == "aten::mul" for event in prof.events()))
        """))
    done = subprocess.run([sys.executable, str(program), method], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["84.0", "3"]
