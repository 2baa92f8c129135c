// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// An execution trace while it grows. After every write the file ends with the root and the closing
// brackets; the next write replaces them:
//
//   head │ node, node, … │ root ]}          on disk
//   head │ node, node, … │ node, … │ root ]}
//
// In a compressed file, the end of the stream is replaced with them. Not thread-safe.

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

  // Keeps the first error. Nothing is written after it.
  void add(const ExecutionTraceNode& node);
  void flush();
  const Result<void>& status() const { return status_; }

 private:
  explicit ExecutionTraceFile(AppendFile file) : file_(std::move(file)) {}
  Result<void> write_out();
  Result<void> begin();
  // The bytes on disk for a text, as part of `stream`.
  Result<std::vector<std::uint8_t>> packed(const std::string& text, GzipStream& stream);

  AppendFile file_;
  std::unique_ptr<GzipCompressor> compressor_;  // null: it is not compressed
  GzipStream stream_;
  std::uint64_t nodes_end_ = 0;  // where the root begins
  std::vector<std::uint8_t> closing_;
  std::string text_;  // nodes that are not yet on disk
  Result<void> status_;
};

}  // namespace sonde
