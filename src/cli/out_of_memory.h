// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace sonde::cli {

// Prints a message on stderr without allocating.
void say_out_of_memory();

// If memory runs out on a thread other than the main one, the program would abort. From here on, it
// ends with status 1 and the message.
void end_if_memory_runs_out();

}  // namespace sonde::cli
