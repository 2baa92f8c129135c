// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Rows of the operator table and of the event list for other programs. Keys are stable: add keys,
// but do not rename them.

#include <cstddef>
#include <string>
#include <vector>

#include "cli/print/output.h"
#include "sonde/analyse/events.h"
#include "sonde/open.h"
#include "sonde/result.h"

namespace sonde::cli {

// Opens a trace and makes its events.
Result<EventList> open_events(const std::string& path, const OpenOptions& options);
// The message if there are none.
Failure no_events(const std::string& path);

// `extra` is empty or has one entry per row of `averages`. `order` has the rows to show, in order.
struct ShownRows {
  const KeyAverages& averages;
  const std::vector<std::size_t>& order;
  const std::vector<ExtraFigures>& extra;
  bool with_shapes = false;
};

void write_rows_json(const ShownRows& rows, Output& out);
void write_rows_csv(const ShownRows& rows, Output& out);

void write_events_json(const EventList& events, Output& out);
void write_events_csv(const EventList& events, Output& out);

}  // namespace sonde::cli
