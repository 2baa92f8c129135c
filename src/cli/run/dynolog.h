// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What `sonde trigger` says as the daemon that programs ask whether to record
// (agent/daemon_socket.h), and to a daemon that runs already.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/daemon_socket.h"
#include "sonde/result.h"

namespace sonde::cli {

struct DaemonRequest {
  bool is_announcement = false;
  std::int64_t job = 0;
  std::vector<std::int32_t> pids;  // the program's own first; never empty
};

// None if it is not a request.
std::optional<DaemonRequest> parse_daemon_request(const DaemonMessage& message);
DaemonMessage daemon_answer(const DaemonRequest& request, std::string_view configuration);

// Hands a configuration to a daemon that has the name already, as its own command line tool does.
// Returns the daemon's answer, which is JSON.
Result<std::string> ask_running_daemon(std::string_view configuration, std::int64_t job,
                                       const std::vector<std::int32_t>& pids);

// The processes that it triggered, by its answer; none if the answer does not say so.
std::optional<std::set<std::int32_t>> triggered_by_daemon(std::string_view answer);

}  // namespace sonde::cli
