// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// An execution trace while it grows. The file ends with the root and the closing brackets after
// every write; the next one takes their place:
//
//   head │ node, node, … │ root ]}          on disk
//   head │ node, node, … │ node, … │ root ]}
//
// Compressed, the end of the stream is replaced with them. Not thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/gzip_writer.h"
#include "sonde/result.h"
#include "sonde/trace/execution_trace_nodes.h"

namespace sonde {

class ExecutionTraceFile {
 public:
  // Compressed if `path` ends in `.gz`.
  static Result<ExecutionTraceFile> create(const std::string& path);

  // Errors are kept: after the first nothing is written any more.
  void add(const ExecutionTraceNode& node);
  void flush();
  const Result<void>& status() const { return status_; }

 private:
  explicit ExecutionTraceFile(AppendFile file) : file_(std::move(file)) {}
  Result<void> write_out();
  Result<void> begin();
  // What stands on disk for the text, as part of `stream`.
  Result<std::vector<std::uint8_t>> packed(const std::string& text, GzipStream& stream);

  AppendFile file_;
  std::unique_ptr<GzipCompressor> compressor_;  // null: it is not compressed
  GzipStream stream_;
  std::uint64_t nodes_end_ = 0;  // where the root and what follows it begin
  std::vector<std::uint8_t> closing_;
  std::string text_;  // nodes that are not on disk
  Result<void> status_;
};

}  // namespace sonde
