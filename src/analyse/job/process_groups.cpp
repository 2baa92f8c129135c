// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/job/process_groups.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace sonde::detail {
namespace {

constexpr std::size_t kMostGroups = 100'000;
constexpr int kDeepestJson = 64;

// A walk over JSON text that stops at the first thing it does not understand.
class JsonWalk {
 public:
  explicit JsonWalk(std::string_view text) : rest_(text) {}

  bool take(char wanted) {
    skip_space();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Escapes stay as they are: names of groups have none.
  std::optional<std::string_view> string() {
    if (!take('"')) return std::nullopt;
    for (std::size_t at = 0; at < rest_.size(); ++at) {
      if (rest_[at] == '\\') {
        ++at;
      } else if (rest_[at] == '"') {
        const std::string_view found = rest_.substr(0, at);
        rest_.remove_prefix(at + 1);
        return found;
      }
    }
    rest_ = {};
    return std::nullopt;
  }
  std::optional<std::int64_t> integer() {
    skip_space();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  // Calls visit(key) before each value of an object, which must take it.
  template <typename Visit>
  bool object(Visit visit) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      const auto key = string();
      if (!key || !take(':') || !visit(*key)) return false;
    } while (take(','));
    return take('}');
  }
  template <typename Visit>
  bool array(Visit visit) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!visit()) return false;
    } while (take(','));
    return take(']');
  }
  bool skip(int depth = 0) {
    skip_space();
    if (rest_.empty() || depth > kDeepestJson) return false;
    if (rest_.front() == '"') return string().has_value();
    if (rest_.front() == '{') return object([&](std::string_view) { return skip(depth + 1); });
    if (rest_.front() == '[') return array([&] { return skip(depth + 1); });
    const std::size_t end = std::min(rest_.find_first_of(",]} \n\t\r"), rest_.size());
    rest_.remove_prefix(end);
    return end > 0;
  }

 private:
  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n\t\r"), rest_.size()));
  }
  std::string_view rest_;
};

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
      const auto text = walk.string();
      if (text) (key == "pg_name" ? group.name : group.description) = *text;
      return text.has_value();
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
      return walk.skip();
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
