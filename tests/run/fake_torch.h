// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A fake libtorch: a library of that name with operators that can be observed.

extern "C" {
// Called with 1 when an operator begins and with 0 when it ends.
using FakeTorchObserver = void (*)(int begins);
void fake_torch_observe(FakeTorchObserver observer);
// Returns when there is an observer.
void fake_torch_await_observer(void);
// Operators that allocate, and one allocation that fails.
void fake_torch_run(int operators);
// How often its own profiler saw allocations.
int fake_torch_memory_reports(void);
// 1 if its constructor had run when the observer was set, 0 if the observer came too early.
int fake_torch_observed_in_time(void);
}
