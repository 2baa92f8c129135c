// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Probes for perf, bpftrace and SystemTap (USDT), if sys/sdt.h was present at build time:
//
//   sonde:scope_begin  name    a scope, a range or an operator begins on this thread
//   sonde:scope_end            and the last of them ends
//   sonde:mark         name    a moment
//
// A tool that attaches raises their semaphore, which is the upper half of sonde_detail_recording
// (listeners.h). So scopes notice it without reading anything more.

#include <cstdint>

#include "record/listeners.h"

namespace sonde::detail {

// Null if the probes were not built.
const Tool* probe_tool() noexcept;

// How many tools have attached, as the kernel counts. In one case this is not the word of
// listeners.h: a program compiled to access variables of libraries directly has its own copy of
// that word, which the kernel does not know. follow_probes() updates the copy. Until it is called,
// the copy counts the tools that attached before the program started.
std::uint32_t attached_probes() noexcept;
void follow_probes() noexcept;

}  // namespace sonde::detail
