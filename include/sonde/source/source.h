// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A Source brings events of another API (a tensor library, a GPU runtime) into a session. It
// records through sonde.h like everyone else. A session only says when to record, and what.
//
// The thread that starts or stops the session calls its sources, one call at a time. They must
// return fast; slow work belongs after stop(). Only flush() is called from another thread.

#include <memory>
#include <string>

#include "sonde/profile/record_options.h"
#include "sonde/result.h"

namespace sonde {

class Source {
 public:
  virtual ~Source() = default;
  virtual std::string name() const = 0;
  // The activity it serves. Sessions that ask for this activity call it.
  virtual Activity activity() const = 0;
  // Called before the first window: load libraries, allocate buffers. A failure goes into the
  // session's ledger and leaves this source out; it never fails the program. Called again right
  // before each start(), and before a stop() after which others still record, with the options of
  // all of them combined; these apply from that start() or stop() on. A source that cannot change
  // its options while it runs continues unchanged.
  virtual Result<void> prepare(const RecordOptions& wanted) = 0;
  virtual void start() = 0;
  virtual void stop() = 0;

  // Whether it holds back events, for example times that a device reports in batches.
  virtual bool is_flushed() const { return false; }
  // If so: record what is held back and complete. Called a few times a second while a window is
  // open, from one of Sonde's threads, and before a snapshot, from the thread that takes it. Two
  // calls may come at once, and with several sessions also while another session starts or stops.
  virtual void flush() {}
};

// Sources serve all sessions that begin after they were added. Adding one again has no effect.
void add_source(std::shared_ptr<Source> source);
void remove_source(const Source& source);

}  // namespace sonde
