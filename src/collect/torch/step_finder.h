// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Recognises the steps of a program that does not mark them, from ranges that torch itself marks.
// docs/run.md has the rules.

namespace sonde::torch {

// Watches ranges if somebody wants to know of steps (sonde_when_steps_end). Operators do not become
// slower by it.
void find_steps();
// Call it whenever another callback was added: torch calls them in that order, and a step ends
// after the range that it is known by.
void find_steps_after_others();
// At the end of the program, while torch still has its callbacks.
void end_finding_steps();

}  // namespace sonde::torch
