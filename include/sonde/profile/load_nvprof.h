// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// PyTorch's `load_nvprof`: the ranges in a database of nvprof as events, each with the kernels that
// were launched in it.
//
//   // nvprof --profile-from-start off -o trace.prof -- python train.py
//   SONDE_TRY(const EventList events, load_nvprof("trace.prof"));
//   std::cout << events.key_averages().table();
//
// The calls and the work of the device are events too, as in every list. docs/compatibility.md says
// where it differs from PyTorch's. `open_trace` gives the whole recording as a trace.

#include <string>

#include "sonde/analyse/events.h"
#include "sonde/result.h"

namespace sonde {

Result<EventList> load_nvprof(const std::string& path);

}  // namespace sonde
