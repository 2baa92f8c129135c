// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Prints rows as PyTorch's table.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/events/event_data.h"
#include "sonde/analyse/averages.h"
#include "sonde/analyse/table.h"

namespace sonde::detail {

TableFacts table_facts(const EventData& data);

// Checks that the key, columns and unit in the options exist.
Result<void> check_table_options(const TableOptions& options);

// "1.500ms"; in `unit` (s, ms or us) if given.
std::string time_text(double us, std::string_view unit = {});

// Whether sorting or a column needs figures that cost another pass.
bool needs_extra_figures(const TableOptions& options);

// Which rows are shown, in what order. `extra` is empty or has one entry per row.
std::vector<std::size_t> table_rows(const std::vector<EventAverage>& rows,
                                    const std::vector<ExtraFigures>& extra,
                                    const TableOptions& options);

std::string table_text(const std::vector<EventAverage>& rows,
                       const std::vector<ExtraFigures>& extra, const TableFacts& facts,
                       const TableOptions& options);

}  // namespace sonde::detail
