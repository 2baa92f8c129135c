// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace sonde::cli {

// A sentence on stderr, without allocating.
void say_out_of_memory();

// Memory that runs out on another thread than the main one would end the program with an abort.
// From here on that ends it with status 1 and the sentence.
void end_if_memory_runs_out();

}  // namespace sonde::cli
