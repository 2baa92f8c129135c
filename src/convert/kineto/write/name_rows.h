// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The events that are on no track: the rows that name processes, devices and threads, and those
// that say when recording was on. Every event begins with a comma.

#include <functional>
#include <string>
#include <string_view>

#include "convert/kineto/write/plan.h"

namespace sonde {

// Whether an extra is such a row and not a property.
bool is_name_row(std::string_view key);
// One process_name, process_labels and process_sort_index per process and device, then one
// thread_name and thread_sort_index per track and lane.
std::string kineto_name_rows(const KinetoPlan& plan);
// Events of a foreign file that were kept unchanged, one after the other.
void kineto_kept_events(const KinetoPlan& plan, const std::function<void(std::string_view)>& sink);
// Four events per window.
std::string kineto_window_rows(const KinetoPlan& plan);

}  // namespace sonde
