// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde table`: PyTorch's operator table.

#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/print/rows.h"
#include "sonde/analyse/events.h"

namespace sonde::cli {

Result<void> run_table(const TableCommand& options, Output& out) {
  OpenOptions open = options.open;
  open.for_operator_table = true;
  open.without_inputs = !options.group_by.group_by_input_shape;
  SONDE_TRY(const EventList events, open_events(options.file, open));
  const KeyAverages averages = events.key_averages(options.group_by);
  if (options.format == Format::Text) {
    if (averages.empty()) return no_events(options.file);
    TableOptions wanted = options.table;
    if (options.fits_terminal) wanted.fit_width = out.terminal_width();
    SONDE_TRY(const std::string text, averages.table(wanted));
    out.write(text);
    if (wanted.fit_width > 0) out.line("--sort-by KEY sorts, --wide shows all columns.");
    return {};
  }
  SONDE_TRY(const std::vector<std::size_t> order, averages.rows(options.table));
  const std::vector<ExtraFigures> extra =
      options.table.columns.empty() ? std::vector<ExtraFigures>() : averages.extra_figures();
  const ShownRows rows{averages, order, extra, options.group_by.group_by_input_shape};
  if (options.format == Format::Json) {
    write_rows_json(rows, out);
  } else {
    write_rows_csv(rows, out);
  }
  return {};
}

}  // namespace sonde::cli
