// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Shows on the terminal what is being done if it takes longer than a second; silent if stderr is
// not a terminal. The line is erased at the end.
//
//   const Progress progress("opening run.sonde");

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace sonde::cli {

class Progress {
 public:
  explicit Progress(std::string_view doing);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void show_until_done();

  std::string doing_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread shower_;  // last, because it uses the members above
};

}  // namespace sonde::cli
