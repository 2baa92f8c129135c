// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writes activities into the recording. Names are demangled and numbered, and waits are joined to
// the events they waited for. Used by one thread.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collect/cuda/activity.h"

namespace sonde::cuda {

class WorkRecorder {
 public:
  void add(const Activity& activity);
  // Writes waits that needed records of other buffers. Call it after each batch of buffers.
  void flush();

  // Returns the devices that had work, and forgets them.
  std::vector<std::int16_t> take_devices();

 private:
  struct Recorded {
    std::uint32_t stream;
    std::uint64_t correlation;
  };
  struct Name {
    std::string mangled;  // the text at the address when it was read
    std::uint32_t number;
  };

  std::uint32_t kernel_name(const char* mangled);
  void add_wait(const Activity& wait);
  void note_device(const sonde_device_span& span);

  std::unordered_map<const char*, Name> names_;
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Recorded> events_;  // context, sync id
  std::vector<Activity> waits_;
  std::unordered_map<std::uint32_t, std::int16_t> device_of_context_;
  std::vector<bool> devices_;
};

// Kineto's names: "Memcpy HtoD (Pageable -> Device)", "Memset (Device)".
std::string copy_name(const sonde_copy& copy);

}  // namespace sonde::cuda
