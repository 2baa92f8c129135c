// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Who may ask a server for what.
//
// Any page in any browser of this machine can send requests to a port of it. Three things keep
// strangers out: the Host must be ours (a foreign name that resolves to this machine is not), the
// Origin, if there is one, must be ours, and all but the empty page needs a token that only the
// user's browser was given.

#include <string>
#include <string_view>

namespace sonde::detail {

struct RequestHead {
  std::string_view method;
  std::string_view target;
  std::string_view host;
  std::string_view origin;  // empty: none
  std::string_view token;   // of the header X-Sonde-Token
};

enum class Permission {
  Page,      // parts of the page, which tell nothing about the trace
  Api,       // answers about the trace
  Refused,   // 403, and no word why
  NotFound,  // 404
};

// 128 bits that nobody can guess, as 32 digits.
std::string new_token();

class Gate {
 public:
  Gate(unsigned short port, std::string token);
  Permission allows(const RequestHead& head) const;

 private:
  bool is_our_host(std::string_view host) const;
  bool is_token(std::string_view given) const;

  std::string port_;
  std::string token_;
};

}  // namespace sonde::detail
