// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A report as a web page: findings, bars of steps, shares of operators and kernels, causes of idle
// time, and a flame graph of the host's time, in one file that needs no network.
//
//   std::ofstream("report.html") << report_page(report(trace), "run.sonde");

#include <string>
#include <string_view>

#include "sonde/analyse/report.h"

namespace sonde {

// `name` is the page's name for the trace, such as its file. It and all names in the trace may
// contain anything. The page shows the beginning of long lists and says so.
std::string report_page(const Report& report, std::string_view name);

}  // namespace sonde
