// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writes text that threads render in numbered parts to one file, in the order of the numbers.
//
//   OrderedOutput output(file, /*is_gzip=*/true);
//   parallel_for(parts, [&](std::size_t part) {
//     OrderedOutput::Part out(output, part);
//     out.write(text);               // compressed here, written after all earlier parts
//   });
//   SONDE_TRY_VOID(output.finish());
//
// A part waits with its text until all earlier parts are written, so each thread holds at most one
// text. Begin parts in the order of their numbers.

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/gzip_writer.h"
#include "base/output_file.h"
#include "sonde/result.h"

namespace sonde {

class OrderedOutput {
 public:
  OrderedOutput(OutputFile& file, bool is_gzip);

  // The next part may write once this one is destroyed.
  class Part {
   public:
    Part(OrderedOutput& output, std::size_t number) : output_(output), number_(number) {}
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    ~Part() { output_.end_part(number_); }
    // False once anything failed: then rendering more is useless.
    bool write(std::string_view text) { return output_.write(number_, text); }

   private:
    OrderedOutput& output_;
    std::size_t number_;
  };

  // Call it after the last part: it ends the stream. Returns the first error, if there was one.
  Result<void> finish();

 private:
  struct Packer {
    GzipCompressor compressor;
    CompressedBlock block;
  };

  bool write(std::size_t part, std::string_view text);
  bool append(std::span<const std::uint8_t> bytes);
  void end_part(std::size_t part);
  std::unique_ptr<Packer> borrow_packer();

  OutputFile& file_;
  bool is_gzip_;
  std::mutex mutex_;
  std::condition_variable turn_;
  std::size_t next_ = 0;                       // the part whose turn it is
  GzipStream stream_;                          // guarded by the turn
  Result<void> result_;                        // guarded by the mutex
  std::vector<std::unique_ptr<Packer>> idle_;  // guarded by the mutex
};

}  // namespace sonde
