// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Asks the daemon dynolog, or `sonde trigger`, once a second whether to record, as PyTorch's own
// profiler does, and records what is demanded in a session of its own.
//
//   on_demand.open(report);
//   const std::int64_t wait_ns = on_demand.advance(now_ns, open_session);   // again after that time
//   if (auto done = on_demand.take_finished()) ...                          // write its window
//
// It knows no thread: the agent's mutex guards it. Nothing waits for the daemon.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/daemon_socket.h"
#include "agent/demand.h"
#include "collect/session.h"

namespace sonde {

class OnDemand {
 public:
  // Begins to ask. What goes wrong is noted in the run log `report`.
  void open(const std::string& report);
  // Readable when there is something to receive(); -1: never.
  int descriptor() const { return socket_ ? socket_->descriptor() : -1; }

  using OpenSession = std::function<Result<std::unique_ptr<Session>>(const Demand&)>;
  // Does what is due. Returns the time until more is, in ns, or -1.
  std::int64_t advance(std::int64_t now_ns, const OpenSession& open_session);
  // `steps` have ended, the last one just now; call it before the next one's span begins. True if
  // the window is over.
  bool step_ended(std::int64_t steps, std::int64_t now_ns);
  // Ends the window, if one is open.
  void end();

  // What records now; null if nothing does.
  Session* recording() const { return began_ns_ != 0 ? session_.get() : nullptr; }
  // Whether advance() would end the window now.
  bool is_over(std::int64_t now_ns) const;

  struct Finished {
    std::unique_ptr<Session> session;
    std::string path;  // to be written
  };
  std::optional<Finished> take_finished() { return std::exchange(finished_, std::nullopt); }

 private:
  void ask();
  void receive(std::int64_t now_ns, const OpenSession& open_session);
  Result<void> accept(const std::string& configuration, std::int64_t now_ns,
                      const OpenSession& open_session);
  void begin(std::int64_t now_ns);
  void complain(const std::string& problem) const;
  std::int64_t next_event_ns() const;

  std::string report_;
  std::optional<DaemonSocket> socket_;
  std::int64_t ask_at_ns_ = 0;

  Demand demand_;
  std::unique_ptr<Session> session_;  // null: nothing is demanded
  std::int64_t begin_at_ns_ = 0;      // or, for steps, when to give up
  std::int64_t began_ns_ = 0;         // 0: the window has not begun
  std::int64_t began_step_ = 0;
  std::optional<Finished> finished_;
};

}  // namespace sonde
