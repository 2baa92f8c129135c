// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The text around the events: the top-level keys of the file.

#include <string>

#include "convert/kineto/write/plan.h"

namespace sonde {

// From the first brace to the bracket before the events.
std::string kineto_head(const KinetoPlan& plan);
// From the bracket after the events to the end. `name` is the file's own name for itself if the
// trace has none.
std::string kineto_tail(const KinetoPlan& plan, const std::string& name);

}  // namespace sonde
