// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The data of KeyAverages.

#include <cstdint>
#include <memory>
#include <vector>

#include "analyse/events/event_data.h"
#include "sonde/analyse/averages.h"

namespace sonde {

struct KeyAverages::Data {
  std::shared_ptr<const detail::EventData> events;
  std::vector<EventAverage> rows;
  Column<std::uint32_t> row_of_event;
};

namespace detail {

std::vector<ExtraFigures> extra_figures(const EventData& data, std::size_t rows,
                                        const Column<std::uint32_t>& row_of_event);

}  // namespace detail
}  // namespace sonde
