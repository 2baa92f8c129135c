// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// PyTorch's `load_nvprof`: the ranges in an nvprof database as events, each with the kernels
// launched in it.
//
//   // nvprof --profile-from-start off -o trace.prof -- python train.py
//   SONDE_TRY(const EventList events, load_nvprof("trace.prof"));
//   std::cout << *events.key_averages().table();
//
// Calls and device work are events too, as in every list. docs/compatibility.md says how it differs
// from PyTorch's. `open_trace` returns the whole recording as a trace.

#include <string>

#include "sonde/analyse/events.h"
#include "sonde/result.h"

namespace sonde {

Result<EventList> load_nvprof(const std::string& path);

}  // namespace sonde
