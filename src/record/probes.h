// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Probes for perf, bpftrace and SystemTap (USDT), where sys/sdt.h was there to build with:
//
//   sonde:scope_begin  name    a scope, a range or an operator begins on this thread
//   sonde:scope_end            and the last of them ends
//   sonde:mark         name    a moment
//
// Whoever attaches raises their semaphore, which is the upper half of sonde_detail_recording
// (listeners.h): so scopes notice without having looked at anything more.

#include <cstdint>

#include "record/listeners.h"

namespace sonde::detail {

// Null where they were not built.
const Tool* probe_tool() noexcept;

// How many have attached, as the kernel counts. Another word than that of listeners.h in one case:
// a program that was compiled to reach variables of libraries directly has a copy of that one,
// which the kernel does not know of. follow_probes() brings the copy up to date; until it is
// called, what was attached before the program started counts.
std::uint32_t attached_probes() noexcept;
void follow_probes() noexcept;

}  // namespace sonde::detail
