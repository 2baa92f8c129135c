// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The output formats of a report; a page is another (sonde/view/trace_page.h). `name` is the file
// of the trace.

#include <string>
#include <string_view>
#include <vector>

#include "cli/print/output.h"
#include "sonde/analyse/report.h"

namespace sonde::cli {

void write_report_text(const Report& report, std::string_view name, Output& out);
void write_report_markdown(const Report& report, std::string_view name, Output& out);
// Its keys are stable: add keys, but do not rename them.
void write_report_json(const Report& report, std::string_view name, Output& out);

// "Nothing was lost. Recording cost …": the first lines of a report.
std::vector<std::string> trust_lines(const Report& report);
// "cudaStreamSynchronize, 3.210 ms at 12.400 ms"
std::string example_text(const Report& report, SpanId span);

}  // namespace sonde::cli
