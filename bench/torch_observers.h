// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What can watch a LibTorch program: nothing, callbacks that do as little as possible, Sonde, and
// torch's own profiler.
//
//   for (const auto& observer : all_observers()) {
//     observer->start();
//     program();
//     observer->stop();
//     observer->answer();
//   }

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sonde::bench {

class Observer {
 public:
  Observer() = default;
  virtual ~Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  virtual std::string name() const = 0;
  virtual void start() = 0;
  virtual void stop() = 0;
  // Makes the operator table. In C++, torch ends with a list of events and does nothing here.
  virtual void answer() {}
  // Discards what was recorded.
  virtual void forget() {}
};

struct Wishes {
  bool shapes = false;
  bool memory = false;
};

std::unique_ptr<Observer> nothing();
std::unique_ptr<Observer> empty_callback();
// Two reads of the processor's counter and one record of 32 bytes, into warm memory.
std::unique_ptr<Observer> floor_callback();
// The same, and LibTorch is asked for the operators' inputs, which nobody looks at.
std::unique_ptr<Observer> floor_callback_with_inputs();
std::unique_ptr<Observer> sonde_profiler(Wishes wishes);
std::unique_ptr<Observer> torch_profiler(Wishes wishes);

// The rows of a comparison: first nothing, then the floor's callbacks, Sonde, torch.
std::vector<std::unique_ptr<Observer>> all_observers();

// How many events one call of `program` records.
std::uint64_t count_events(const std::function<void()>& program);

}  // namespace sonde::bench
