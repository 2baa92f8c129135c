// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Decodes CUPTI's buffers of activity records. The layout of a record depends on the version of the
// library that wrote it.
//
//   const ActivityDecoder decoder(version);
//   decoder.decode(buffer, [&](const Activity& activity) { … });

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "collect/cuda/cupti.h"
#include "sonde/source/device.h"
#include "wire/sized.h"

namespace sonde::cuda {

// One record. span.kind says which of the details apply. Names still point into CUPTI's memory.
struct Activity {
  enum class Type : std::uint8_t {
    Kernel,
    Copy,
    Fill,
    Wait,
    EventRecorded,
    Overhead,
    Memory,
    Call,
    Tag
  };
  Type type = Type::Kernel;
  sonde_device_span span = sized<sonde_device_span>();  // has its kind, but not its name
  sonde_kernel kernel = sized<sonde_kernel>();
  sonde_copy copy = sized<sonde_copy>();
  sonde_sync sync = sized<sonde_sync>();
  sonde_device_allocation memory = sized<sonde_device_allocation>();
  std::uint64_t event_sync_id = 0;    // joins waits and events; 0 if not known
  const char* kernel_name = nullptr;  // mangled; valid only in the recorded process
  std::uint32_t overhead_kind = 0;
  std::uint64_t external_id = 0;  // of a Tag, which joins it to span.correlation
  std::uint32_t external_kind = 0;
  std::uint32_t thread = 0;  // of a Call
  std::uint32_t callback_id = 0;
};

class ActivityDecoder {
 public:
  // `cupti` steps over records whose size is not known here. If it is null, such a record ends the
  // buffer.
  explicit ActivityDecoder(std::uint32_t version, const Cupti* cupti = nullptr);

  using Visit = std::function<void(const Activity&)>;
  struct Counts {
    std::uint64_t records = 0;
    std::uint64_t unknown = 0;        // kinds that were not requested
    std::uint64_t without_times = 0;  // the device had not reported when they ran
    std::uint64_t bytes_left = 0;     // that could not be read
  };
  Counts decode(std::span<const std::uint8_t> buffer, const Visit& visit) const;

  // The size of a record; 0 if it is not known.
  std::size_t record_bytes(std::uint32_t kind) const {
    return kind < record_bytes_.size() ? record_bytes_[kind] : 0;
  }

 private:
  std::size_t next_record(std::span<const std::uint8_t> buffer, std::size_t at) const;

  std::uint32_t version_;
  const Cupti* cupti_;
  std::array<std::uint16_t, 64> record_bytes_ = {};  // by kind
};

}  // namespace sonde::cuda
