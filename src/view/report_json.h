// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

#include "sonde/analyse/report.h"

namespace sonde::detail {

// A report as a page reads it. Times count from the start of the trace; spans have their row as
// `id`.
std::string report_json(const Report& report, std::string_view name);

}  // namespace sonde::detail
