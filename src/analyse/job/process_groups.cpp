// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/job/process_groups.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/json_walk.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostGroups = 100'000;

bool is_rank(std::int64_t number) {
  return number >= 0 && number <= INT32_MAX;
}

std::vector<std::int32_t> ascending(std::vector<std::int32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

bool read_group(JsonWalk& walk, RankGroup& group) {
  return walk.object([&](std::string_view key) {
    if (key == "pg_name" || key == "pg_desc") {
      std::optional<std::string> text = walk.string();
      const bool is_text = text.has_value();
      if (text) (key == "pg_name" ? group.name : group.description) = *std::move(text);
      return is_text;
    }
    if (key != "ranks") return walk.skip();
    bool is_whole = true;
    const bool is_list = walk.array([&] {
      const auto number = walk.integer();
      if (number && is_rank(*number)) {
        group.ranks.push_back(static_cast<std::int32_t>(*number));
        return true;
      }
      is_whole = false;
      return number || walk.skip();
    });
    if (!is_whole) group.ranks.clear();
    group.ranks = ascending(std::move(group.ranks));
    return is_list;
  });
}

}  // namespace

std::vector<RankGroup> process_groups(std::string_view distributed_info) {
  std::vector<RankGroup> groups;
  JsonWalk walk(distributed_info);
  walk.object([&](std::string_view key) {
    if (key != "pg_config") return walk.skip();
    return walk.array([&] {
      RankGroup group;
      const bool is_read = read_group(walk, group);
      if (is_read && groups.size() < kMostGroups) groups.push_back(std::move(group));
      return is_read;
    });
  });
  return groups;
}

std::string job_id(std::string_view job) {
  std::string id;
  JsonWalk walk(job);
  walk.object([&](std::string_view key) {
    if (key != "id") return walk.skip();
    std::optional<std::string> text = walk.string();
    const bool is_text = text.has_value();
    if (text) id = *std::move(text);
    return is_text;
  });
  return id;
}

std::vector<std::int32_t> rank_list(std::string_view text) {
  std::vector<std::int32_t> ranks;
  JsonWalk walk(text);
  const bool is_list = walk.array([&] {
    const auto number = walk.integer();
    if (!number || !is_rank(*number)) return false;
    ranks.push_back(static_cast<std::int32_t>(*number));
    return true;
  });
  if (!is_list) return {};
  return ascending(std::move(ranks));
}

}  // namespace sonde::detail
