// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Serves a page to browsers on this machine.
//
//   SONDE_TRY(const std::unique_ptr<ViewServer> server, ViewServer::start(handlers, 0));
//   std::cout << server->address() << "#token=" << server->token() << "\n";
//   server->run();   // until stop(), SIGINT or SIGTERM
//
// Listens on 127.0.0.1 only, and there is no option for more. A request's head may have 16 KiB and
// its body 1 MiB; a connection that says nothing for a minute is closed.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sonde/result.h"

namespace sonde::detail {

struct Answer {
  int status = 200;
  std::string_view type = "application/json";  // must outlive the server
  std::string body;
};

// Called on several threads at once.
struct ServerHandlers {
  std::function<Answer(std::string_view target)> page;
  std::function<Answer(std::string_view target, std::string_view body)> api;
  // Whether an answer takes long; such requests do not hold up others.
  std::function<bool(std::string_view target)> is_slow;
};

class ViewServer {
 public:
  // Port 0: any that is free.
  static Result<std::unique_ptr<ViewServer>> start(ServerHandlers handlers, int port);
  virtual ~ViewServer() = default;

  virtual std::string address() const = 0;  // "http://127.0.0.1:40123/"
  virtual int port() const = 0;
  virtual const std::string& token() const = 0;
  virtual void run() = 0;
  virtual void stop() = 0;
};

}  // namespace sonde::detail
