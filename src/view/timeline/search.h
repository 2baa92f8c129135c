// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Finds spans by what a person types:
//
//   gemm                    names that contain it, in either case
//   gemm dur > 1ms          and that last longer (also <, >=, <=; ns, us, ms, s)
//   kind:kernel             of a kind or a class, as `sonde dump` calls them
//   arg:batch               whose arguments, inputs or values contain it
//   "two words"             a blank in a name
//
// All words of a query must hold.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/result.h"
#include "view/timeline/trace_answers.h"

namespace sonde::detail {

struct Query {
  std::vector<std::string> names;      // in lower case
  std::vector<std::string> kinds;      // in lower case
  std::vector<std::string> arguments;  // in lower case
  Nanos least_ns = 0;
  Nanos most_ns = INT64_MAX;
};

Result<Query> parse_query(std::string_view text);

struct Found {
  std::uint64_t count = 0;
  Nanos total_ns = 0;
  std::vector<SpanId> first;  // some of them, by start
};
Found search(const TraceAnswers& answers, const Query& query);
std::string search_json(const TraceAnswers& answers, const Found& found);

}  // namespace sonde::detail
