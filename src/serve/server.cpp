// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "serve/server.h"

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "serve/permission.h"

namespace sonde::detail {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;  // NOLINT(readability-identifier-naming): as in Boost

constexpr std::uint64_t kMostBody = 1 << 20;
constexpr std::uint32_t kMostHead = 16 << 10;
constexpr std::size_t kReadAhead = 64 << 10;
constexpr std::chrono::seconds kDeadline(60);
constexpr int kMostConnections = 64;
constexpr unsigned kFastThreads = 2;
constexpr unsigned kSlowThreads = 2;

// Stands for more than one origin, which no page has.
constexpr std::string_view kSeveral = "several";

// Everything comes from this server, and nobody may frame it.
constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

class Connection;

// Connections that wait for a request to arrive, those first that have waited longest.
class Waiting {
 public:
  using Place = std::uint64_t;
  Place add(std::weak_ptr<Connection> connection) {
    const std::lock_guard lock(mutex_);
    all_.emplace(++last_, std::move(connection));
    return last_;
  }
  void remove(Place place) {
    const std::lock_guard lock(mutex_);
    all_.erase(place);
  }
  // Null: none waits.
  std::shared_ptr<Connection> take_first() {
    const std::lock_guard lock(mutex_);
    while (!all_.empty()) {
      const std::shared_ptr<Connection> first = all_.begin()->second.lock();
      all_.erase(all_.begin());
      if (first != nullptr) return first;
    }
    return nullptr;
  }

 private:
  std::mutex mutex_;
  std::map<Place, std::weak_ptr<Connection>> all_;
  Place last_ = 0;
};

struct Shared {
  ServerHandlers handlers;
  Gate gate;
  asio::thread_pool slow{kSlowThreads};
  std::atomic<int> connections{0};
  Waiting waiting{};
};

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

// One connection; keeps itself alive while something is under way.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Shared& shared) : stream_(std::move(socket)), shared_(shared) {
    ++shared_.connections;
  }
  ~Connection() { --shared_.connections; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void run() {
    asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->read(); });
  }
  // Any thread may give a connection up.
  void give_up() {
    asio::post(stream_.get_executor(), [self = shared_from_this()] { self->stream_.close(); });
  }

 private:
  void read() {
    parser_.emplace();
    parser_->body_limit(kMostBody);
    parser_->header_limit(kMostHead);
    stream_.expires_after(kDeadline);
    waiting_ = shared_.waiting.add(weak_from_this());
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       self->was_read(error);
                     });
  }

  void was_read(beast::error_code error) {
    shared_.waiting.remove(waiting_);
    if (error == http::error::body_limit) return refuse(http::status::payload_too_large);
    if (error == http::error::header_limit)
      return refuse(http::status::request_header_fields_too_large);
    if (error) return close();
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): read() made it
    const auto& request = parser_->get();
    const RequestHead head{
        view(request.method_string()), view(request.target()),
        // Several hosts: none of them is believed.
        request.count(http::field::host) == 1 ? view(request[http::field::host])
                                              : std::string_view(),
        request.count(http::field::origin) > 1 ? kSeveral : view(request[http::field::origin]),
        view(request["X-Sonde-Token"])};
    switch (shared_.gate.allows(head)) {
      case Permission::Page:
        return send(shared_.handlers.page(head.target));
      case Permission::Api:
        return ask(head.target);
      case Permission::NotFound:
        return send({404, "text/plain", "nothing here\n"});
      case Permission::Refused:
        break;
    }
    send({403, "text/plain", "refused\n"});
  }

  void ask(std::string_view target) {
    if (!shared_.handlers.is_slow(target))
      // NOLINTNEXTLINE(bugprone-unchecked-optional-access): read() made it
      return send(shared_.handlers.api(target, parser_->get().body()));
    stream_.expires_never();
    asio::post(shared_.slow, [self = shared_from_this(), target] {
      auto answer =
          std::make_shared<Answer>(self->shared_.handlers.api(target, self->parser_->get().body()));
      asio::post(self->stream_.get_executor(), [self, answer] { self->send(std::move(*answer)); });
    });
  }

  // Whoever sends too much is not read to the end.
  void refuse(http::status status) {
    keep_ = false;
    send({static_cast<int>(status), "text/plain", "too much\n"});
  }

  void send(Answer answer) {
    response_ = {};
    response_.version(11);
    response_.result(static_cast<unsigned>(answer.status));
    response_.set(http::field::content_type,
                  beast::string_view(answer.type.data(), answer.type.size()));
    response_.set(http::field::cache_control, "no-store");
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set("Referrer-Policy", "no-referrer");
    response_.set("Cross-Origin-Resource-Policy", "same-origin");
    response_.set("X-Frame-Options", "DENY");
    response_.set("Content-Security-Policy", kContentPolicy);
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): read() made it
    response_.keep_alive(keep_ && parser_->get().keep_alive());
    response_.body() = std::move(answer.body);
    response_.prepare_payload();
    stream_.expires_after(kDeadline);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](beast::error_code error, std::size_t) {
                        const bool again = !error && self->response_.keep_alive();
                        again ? self->read() : self->close();
                      });
  }

  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  beast::tcp_stream stream_;
  Shared& shared_;
  beast::flat_buffer buffer_{kReadAhead};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  bool keep_ = true;
  Waiting::Place waiting_ = 0;
};

class AsioServer : public ViewServer {
 public:
  AsioServer(ServerHandlers handlers, int port)
      : acceptor_(io_, {asio::ip::address_v4::loopback(), static_cast<unsigned short>(port)}),
        token_(new_token()),
        shared_{std::move(handlers), Gate(acceptor_.local_endpoint().port(), token_)},
        signals_(io_, SIGINT, SIGTERM) {
    signals_.async_wait([this](beast::error_code error, int) {
      if (!error) stop();
    });
    accept();
  }
  ~AsioServer() override {
    stop();
    shared_.slow.join();
  }
  AsioServer(const AsioServer&) = delete;
  AsioServer& operator=(const AsioServer&) = delete;

  std::string address() const override {
    return "http://127.0.0.1:" + std::to_string(port()) + "/";
  }
  int port() const override { return acceptor_.local_endpoint().port(); }
  const std::string& token() const override { return token_; }

  void run() override {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < kFastThreads; ++i) others.emplace_back([this] { io_.run(); });
    io_.run();
  }
  void stop() override { io_.stop(); }

 private:
  void accept() {
    acceptor_.async_accept(asio::make_strand(io_), [this](beast::error_code error,
                                                          tcp::socket socket) {
      // Whoever sends slowly keeps nobody else out.
      const bool is_full = shared_.connections >= kMostConnections;
      const std::shared_ptr<Connection> slowest = is_full ? shared_.waiting.take_first() : nullptr;
      if (slowest != nullptr) slowest->give_up();
      if (!error && (!is_full || slowest != nullptr)) {
        beast::error_code ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        std::make_shared<Connection>(std::move(socket), shared_)->run();
      }
      if (error != asio::error::operation_aborted) accept();
    });
  }

  asio::io_context io_;
  tcp::acceptor acceptor_;
  std::string token_;
  Shared shared_;
  asio::signal_set signals_;
};

}  // namespace

Result<std::unique_ptr<ViewServer>> ViewServer::start(ServerHandlers handlers, int port) {
  try {
    return std::unique_ptr<ViewServer>(new AsioServer(std::move(handlers), port));
  } catch (const boost::system::system_error& error) {
    return Failure(ErrorCode::Io, "cannot listen on 127.0.0.1:" + std::to_string(port) + ": " +
                                      error.code().message() +
                                      (port != 0 ? "; choose another --port" : ""));
  }
}

}  // namespace sonde::detail
