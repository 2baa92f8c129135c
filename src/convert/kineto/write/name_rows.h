// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The events that are not on a track: the rows that name processes, devices and threads, and those
// that say when recording was on. Every event begins with a comma.

#include <functional>
#include <string>
#include <string_view>

#include "convert/kineto/write/plan.h"

namespace sonde {

// Whether an extra is such a row rather than a property.
bool is_name_row(std::string_view key);
// One process_name, process_labels, process_sort_index for each process and device, then one
// thread_name, thread_sort_index for each track and lane.
std::string kineto_name_rows(const KinetoPlan& plan);
// Events of a foreign file that were kept as they came, piece by piece.
void kineto_kept_events(const KinetoPlan& plan, const std::function<void(std::string_view)>& sink);
// Four for each window.
std::string kineto_window_rows(const KinetoPlan& plan);

}  // namespace sonde
