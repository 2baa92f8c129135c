// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A stand-in for libtorch: a library of its name with operators that someone may observe.

extern "C" {
// Called at the begin (1) and the end (0) of each operator.
using FakeTorchObserver = void (*)(int begins);
void fake_torch_observe(FakeTorchObserver observer);
// Returns when there is an observer.
void fake_torch_await_observer(void);
// Operators that allocate, and one allocation that fails.
void fake_torch_run(int operators);
// How often its own profiler saw them.
int fake_torch_memory_reports(void);
// Whether its constructor had run when the observer came: 1, or 0 if it came too early.
int fake_torch_observed_in_time(void);
}
