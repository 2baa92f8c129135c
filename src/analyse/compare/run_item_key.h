// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What makes two items of different runs the same one.

#include <string>
#include <tuple>

#include "sonde/analyse/run_summary.h"

namespace sonde::detail {

struct RunItemKey {
  bool is_device;
  std::string name;
  std::string owner;
  std::string shapes;
  std::string module;

  static RunItemKey of(const RunItem& item) {
    return {item.is_device, item.name, item.owner, item.shapes, item.module};
  }
  void give_to(RunItem& item) const {
    item.is_device = is_device;
    std::tie(item.name, item.owner, item.shapes, item.module) =
        std::tie(name, owner, shapes, module);
  }
  bool operator<(const RunItemKey& other) const { return tied() < other.tied(); }

 private:
  std::tuple<const bool&, const std::string&, const std::string&, const std::string&,
             const std::string&>
  tied() const {
    return std::tie(is_device, name, owner, shapes, module);
  }
};

}  // namespace sonde::detail
