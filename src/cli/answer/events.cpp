// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde events`: the list that the operator table is made from.

#include "sonde/analyse/events.h"

#include <string>

#include "cli/commands.h"
#include "cli/print/progress.h"
#include "cli/print/rows.h"

namespace sonde::cli {

Result<EventList> open_events(const std::string& path, const OpenOptions& options) {
  SONDE_TRY(const Trace trace, open_to_answer(path, options));
  const Progress progress("reading events of " + path);
  return function_events(trace);
}

Failure no_events(const std::string& path) {
  return {ErrorCode::NotFound, path + ": has no events for a table"};
}

Result<void> run_events(const EventsCommand& options, Output& out) {
  SONDE_TRY(const EventList events, open_events(options.file, options.open));
  switch (options.format) {
    case Format::Text: {
      if (events.empty()) return no_events(options.file);
      SONDE_TRY(const std::string text, events.table(options.table));
      out.write(text);
      break;
    }
    case Format::Json:
      write_events_json(events, out);
      break;
    case Format::Csv:
      write_events_csv(events, out);
      break;
  }
  return {};
}

}  // namespace sonde::cli
