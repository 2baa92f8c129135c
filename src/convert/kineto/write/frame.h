// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What stands around the events: the keys of the file as a whole.

#include <string>

#include "convert/kineto/write/plan.h"

namespace sonde {

// From the first brace to the bracket that opens the events.
std::string kineto_head(const KinetoPlan& plan);
// From the bracket that closes the events to the end. `name` is what the file calls itself if the
// trace does not say.
std::string kineto_tail(const KinetoPlan& plan, const std::string& name);

}  // namespace sonde
