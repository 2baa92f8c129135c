// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Runs a program under torch's own profiler and Sonde at once, and compares what each saw.
//
//   const Both both = profile([&] { net.forward(x).backward(); });
//   EXPECT_EQ(differences(both), "");

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sonde/trace.h"

namespace sonde::testing {

struct Seen {
  // A line per event of the list: name, sequence number, forward thread, scope, sizes of inputs,
  // FLOPs.
  std::vector<std::string> ops;
  // Depth and name of every operator.
  std::vector<std::string> tree;
  // The bytes of each allocation, negative for frees.
  std::vector<std::int64_t> bytes;
  // How often each key of the operator table occurs.
  std::map<std::string, std::uint64_t> counts;
};

// Torch's profiler sees the calling thread and the threads that autograd and at::launch use for it.
// Its tree is the nesting that RecordFunction itself goes through on the calling thread.
struct Both {
  Seen torchs;
  Seen ours;
  Trace trace;
};

Both profile(const std::function<void()>& program);

// The first place where two lists differ; empty if they are equal.
std::string difference(const std::vector<std::string>& ours,
                       const std::vector<std::string>& torchs);
// The same for everything that both saw.
std::string differences(const Both& both);

}  // namespace sonde::testing
