// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sql/hints.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <set>

namespace sonde::sql {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// How many letters to insert, delete or replace.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t corner = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = corner + (a[i] == b[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string nearest(std::string_view wanted, const std::set<std::string>& names) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, wanted.size() / 2);
  for (const std::string& name : names) {
    const bool begins = name.starts_with(wanted) || wanted.starts_with(name);
    const std::size_t away = begins ? 1 : distance(lower(wanted), name);
    if (away >= least && !(best.empty() && away == least)) continue;
    best = name;
    least = away;
  }
  return best;
}

bool mentions(std::string_view query, const std::string& word) {
  for (std::size_t at = query.find(word); at != std::string_view::npos;
       at = query.find(word, at + 1)) {
    const auto is_letter = [&](std::size_t i) {
      return i < query.size() &&
             (std::isalnum(static_cast<unsigned char>(query[i])) != 0 || query[i] == '_');
    };
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + word.size())) return true;
  }
  return false;
}

// The columns of the tables in the query, or of all tables.
std::set<std::string> column_names(std::string_view query, const std::vector<SqlTable>& tables) {
  std::set<std::string> names;
  for (const bool only_named : {true, false}) {
    for (const SqlTable& table : tables) {
      if (only_named && !mentions(query, table.name)) continue;
      for (const SqlColumn& column : table.columns) names.insert(column.name);
    }
    if (!names.empty()) break;
  }
  return names;
}

std::string after(const std::string& message, std::string_view prefix) {
  const std::string name = message.substr(prefix.size());
  return name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
}

std::string meant(const std::string& name) {
  return name.empty() ? std::string() : "; did you mean " + name + "?";
}

}  // namespace

std::string with_hint(const std::string& message, std::string_view query,
                      const std::vector<SqlTable>& tables) {
  constexpr std::string_view kNoTable = "no such table: ";
  constexpr std::string_view kNoColumn = "no such column: ";
  constexpr std::string_view kNotMade = "vtable constructor failed: ";
  const std::string small = lower(query);
  if (message.starts_with(kNoTable)) {
    std::set<std::string> names;
    for (const SqlTable& table : tables) names.insert(table.name);
    const std::string near = nearest(after(message, kNoTable), names);
    return message + (near.empty() ? "; `.tables` lists them" : meant(near));
  }
  if (message.starts_with(kNotMade))
    return std::string(kNoTable) + after(message, kNotMade) + "; `.tables` lists them";
  if (message.starts_with(kNoColumn)) {
    const std::string near = nearest(after(message, kNoColumn), column_names(small, tables));
    return message + (near.empty() ? "; `.schema` lists them" : meant(near));
  }
  if (message == "not authorized" || message.ends_with("may not be modified") ||
      message.starts_with("access to ") || message.starts_with("authorizer"))
    return kOnlyReads;
  if (message == "incomplete input") return "the query is incomplete: something must follow";
  if (mentions(small, "include") && mentions(small, "perfetto"))
    return "Sonde has Perfetto's tables, not its modules: leave out INCLUDE PERFETTO MODULE";
  return message;
}

}  // namespace sonde::sql
