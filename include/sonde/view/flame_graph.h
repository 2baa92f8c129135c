// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A flame graph as one picture.
//
//   SONDE_TRY_VOID(write_file(path, flame_graph_svg(host_time(trace).flame, "train.sonde")));

#include <string>
#include <vector>

#include "sonde/analyse/host_time.h"

namespace sonde {

// An SVG without scripts. Each box has its full name, time and share as a tooltip. Boxes too narrow
// to see are left out. Empty if the graph is.
std::string flame_graph_svg(const std::vector<FlameNode>& flame, const std::string& title);

}  // namespace sonde
