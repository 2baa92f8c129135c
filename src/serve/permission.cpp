// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "serve/permission.h"

#include "base/new_file.h"

namespace sonde::detail {

std::string new_token() {
  return random_digits() + random_digits();
}

Gate::Gate(unsigned short port, std::string token)
    : port_(":" + std::to_string(port)), token_(std::move(token)) {}

bool Gate::is_our_host(std::string_view host) const {
  return host == "127.0.0.1" + port_ || host == "localhost" + port_;
}

// Takes the same time wherever the difference is.
bool Gate::is_token(std::string_view given) const {
  if (given.size() != token_.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(token_[i]);
  return difference == 0;
}

Permission Gate::allows(const RequestHead& head) const {
  constexpr std::string_view kScheme = "http://";
  if (!is_our_host(head.host)) return Permission::Refused;
  if (!head.origin.empty() &&
      (!head.origin.starts_with(kScheme) || !is_our_host(head.origin.substr(kScheme.size()))))
    return Permission::Refused;
  if (head.target.starts_with("/api/")) {
    if (!is_token(head.token)) return Permission::Refused;
    return head.method == "GET" || head.method == "POST" ? Permission::Api : Permission::NotFound;
  }
  const bool is_page =
      head.target == "/" || head.target == "/viewer.js" || head.target == "/viewer.css";
  return is_page && head.method == "GET" ? Permission::Page : Permission::NotFound;
}

}  // namespace sonde::detail
