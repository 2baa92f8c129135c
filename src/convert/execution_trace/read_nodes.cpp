// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/execution_trace/read_nodes.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/json.h"
#include "base/json_string.h"
#include "base/text.h"
#include "convert/gunzip.h"
#include "convert/json/json_begin.h"
#include "convert/json/json_number.h"
#include "convert/json/json_text.h"
#include "convert/size_limits.h"
#include "sonde/trace/execution_trace_file.h"
#include "trace/execution_trace_text.h"

namespace sonde {
namespace {

// After each one, the rest of the text is searched. A file with more is not an execution trace.
constexpr std::uint64_t kMostBroken = 100;

std::string_view between(const char* first, const char* last) {
  return {first, static_cast<std::size_t>(last - first)};
}

// A member of an object: the text of its key and its value.
struct Member {
  std::string_view key;
  const char* value = nullptr;
};

// `at` is where a key may be. False after the last member, or if the text makes no sense.
bool next_member(const char*& at, const char* end, Member& member) {
  at = skip_space(at);
  if (at >= end || *at != '"') return false;
  const char* const quote = string_end(at + 1, end);
  if (quote == nullptr) return false;
  member.key = between(at + 1, quote);
  at = skip_space(quote + 1);
  if (at >= end || *at != ':') return false;
  at = skip_space(at + 1);
  member.value = at;
  return at < end;
}

// Where the object begins, after a byte order mark; null if there is none.
const char* object_begin(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos || text[first] != '{' ? nullptr : text.data() + first;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& path, ExecutionTrace& out)
      : end_(text.data() + text.size()), begin_(object_begin(text)), path_(path), out_(out) {}

  Result<void> run() {
    if (begin_ == nullptr)
      return Failure(ErrorCode::Invalid, path_ + ": is not an execution trace");
    const char* at = begin_ + 1;
    Member member;
    while (next_member(at, end_, member)) {
      if (member.key == "nodes") {
        at = read_nodes(member.value);
        has_nodes_ = true;
      } else {
        const char* failed_at = nullptr;
        at = value_end(member.value, end_, &failed_at);
        if (at != nullptr) read_head(member.key, between(member.value, at));
      }
      if (at == nullptr) break;
      at = skip_space(at);
      if (at < end_ && *at == ',') ++at;
    }
    if (!has_nodes_) {
      return Failure(ErrorCode::Invalid, path_ + ": is not an execution trace: it has no nodes");
    }
    if (at == nullptr || skip_space(at) >= end_ || *skip_space(at) != '}') {
      out_.problems.push_back("the file is truncated; it has " +
                              counted_text(out_.nodes.size(), "node"));
    }
    if (broken_ > 0) {
      out_.problems.push_back(counted_text(broken_, "node") +
                              " could not be read; the first at byte " +
                              std::to_string(first_broken_ - begin_));
    }
    return {};
  }

 private:
  void read_head(std::string_view key, std::string_view value) {
    if (key == "schema") out_.schema = text_of(value);
    if (key == "time") out_.time = text_of(value);
    if (key == "pid") out_.pid = to_integer(value).value_or(0);
    if (key == "start_ts") out_.start_ms = to_integer(value).value_or(0);
    if (key == "finish_ts") out_.finish_ms = to_integer(value).value_or(0);
  }

  // Returns the position after the list; null if the list does not end.
  const char* read_nodes(const char* at) {
    if (*at != '[') return nullptr;
    at = skip_space(at + 1);
    while (at != nullptr && at < end_ && *at != ']') {
      at = read_node(at);
      if (at == nullptr) return nullptr;
      at = skip_space(at);
      if (at < end_ && *at == ',') at = skip_space(at + 1);
    }
    return at < end_ ? at + 1 : nullptr;
  }

  const char* read_node(const char* at) {
    const char* failed_at = nullptr;
    const char* const after = *at == '{' ? nested_end(at, end_, &failed_at) : nullptr;
    if (after != nullptr) {
      ExecutionTraceNode node;
      if (for_each_member(between(at, after),
                          [&](std::string_view key, std::string_view value) {
                            return read_field(node, key, value);
                          }) &&
          node.id != 0) {
        out_.nodes.push_back(node);
        return after;
      }
    }
    return next_node(at + 1);
  }

  // Where reading continues after a node that makes no sense.
  const char* next_node(const char* at) {
    const char* const first = at;
    while (at < end_) {
      at = static_cast<const char*>(std::memchr(at, '{', static_cast<std::size_t>(end_ - at)));
      if (at == nullptr) break;
      constexpr std::string_view kId = "\"id\"";
      const char* const key = skip_space(at + 1);
      if (key < end_ && between(key, end_).starts_with(kId)) break;
      ++at;
    }
    // If the file ends inside a node, that is reported as the end of the file.
    if (at == nullptr || at >= end_) return nullptr;
    if (broken_++ == 0) first_broken_ = first;
    return broken_ < kMostBroken ? at : nullptr;
  }

  // Lists that are valid JSON are kept unchanged.
  std::string_view list_of(std::string_view value) {
    return !value.empty() && value.front() == '[' && validate_json(value) ? value : "[]";
  }

  std::string_view text_of(std::string_view value) {
    if (!is_quoted(value)) return {};
    const std::string_view raw = unquoted(value);
    return is_plain_json_string(raw) ? raw : out_.keep(decode_json_string(raw));
  }

  bool read_field(ExecutionTraceNode& node, std::string_view key, std::string_view value) {
    if (key == "inputs" || key == "outputs") {
      ExecutionTraceValues& values = key == "inputs" ? node.inputs : node.outputs;
      if (value.front() == '[') {
        values.values = list_of(value);
        return true;
      }
      return for_each_member(value, [&](std::string_view name, std::string_view list) {
        set_list(values, name, list);
        return true;
      });
    }
    if (key == "attrs") return read_attributes(node, value);
    if (key == "id") node.id = to_unsigned(value).value_or(0);
    if (key == "name") node.name = text_of(value);
    if (key == "ctrl_deps" || key == "parent") node.parent = to_unsigned(value).value_or(0);
    // The schemas before 1.0.2.
    if (key.starts_with("input_")) set_list(node.inputs, key.substr(6), value);
    if (key.starts_with("output_")) set_list(node.outputs, key.substr(7), value);
    set_attribute(node, key, value);
    return true;
  }

  void set_list(ExecutionTraceValues& values, std::string_view name, std::string_view list) {
    if (name == "values") values.values = list_of(list);
    if (name == "shapes") values.shapes = list_of(list);
    if (name == "types") values.types = list_of(list);
    if (name == "strides") values.strides = list_of(list);
  }

  bool read_attributes(ExecutionTraceNode& node, std::string_view list) {
    std::string more;
    const bool ok = for_each_element(list, [&](std::string_view element) {
      std::string_view name;
      std::string_view value;
      const bool is_object =
          for_each_member(element, [&](std::string_view key, std::string_view text) {
            if (key == "name") name = text_of(text);
            if (key == "value") value = text;
            return true;
          });
      if (is_object && !set_attribute(node, name, value) && validate_json(element)) {
        if (!more.empty()) more += ", ";
        more += element;
      }
      return is_object;
    });
    if (!more.empty()) node.more_attributes = out_.keep(std::move(more));
    return ok;
  }

  // False if the node has no member for it.
  bool set_attribute(ExecutionTraceNode& node, std::string_view name, std::string_view value) {
    static constexpr std::pair<std::string_view, std::uint64_t ExecutionTraceNode::*> kNumbers[] = {
        {"rf_id", &ExecutionTraceNode::record_function_id},
        {"fw_parent", &ExecutionTraceNode::forward_parent},
        {"scope", &ExecutionTraceNode::scope},
        {"tid", &ExecutionTraceNode::thread},
        {"fw_tid", &ExecutionTraceNode::forward_thread},
    };
    static constexpr std::pair<std::string_view, std::string_view ExecutionTraceNode::*> kTexts[] =
        {
            {"op_schema", &ExecutionTraceNode::schema},
            {"kernel_backend", &ExecutionTraceNode::kernel_backend},
            {"kernel_file", &ExecutionTraceNode::kernel_file},
            {"tensor_range", &ExecutionTraceNode::tensor_range},
        };
    if (name == "seq_id") {
      node.sequence_number = to_integer(value).value_or(-1);
      return true;
    }
    for (const auto& [known, member] : kNumbers) {
      if (name != known) continue;
      node.*member = to_unsigned(value).value_or(0);
      return true;
    }
    for (const auto& [known, member] : kTexts) {
      if (name != known) continue;
      node.*member = text_of(value);
      return true;
    }
    return false;
  }

  const char* const end_;
  const char* const begin_;
  const std::string& path_;
  ExecutionTrace& out_;
  bool has_nodes_ = false;
  std::uint64_t broken_ = 0;
  const char* first_broken_ = nullptr;
};

// Loads a file, compressed or not. `problem` is empty if all of it could be read.
Result<PaddedBytes> load(const std::string& path, const OpenOptions& options,
                         std::string& problem) {
  SONDE_TRY(PaddedBytes file, PaddedBytes::map_file(path));
  if (!is_gzip(file.bytes())) return file;
  Result<Gunzipped> gunzipped =
      gunzip(file.bytes(), nullptr,
             {.most_bytes = most_inflated(file.bytes().size(), options), .judge = may_be_json});
  if (!gunzipped) return Failure(gunzipped.error().code, path + ": " + gunzipped.error().message);
  if (gunzipped->text.text().empty() && !gunzipped->problem.empty())
    return Failure(ErrorCode::Corrupt, path + ": " + gunzipped->problem);
  problem = gunzipped->problem;
  return std::move(gunzipped->text);
}

}  // namespace

bool looks_like_execution_trace(std::string_view text) {
  const char* at = object_begin(text);
  if (at == nullptr) return false;
  const char* const end = text.data() + text.size();
  Member member;
  for (++at; next_member(at, end, member);) {
    if (member.key == "traceEvents") return false;
    if (member.key == "nodes") return *member.value == '[';
    const char* failed_at = nullptr;
    at = value_end(member.value, end, &failed_at);
    if (at == nullptr) return false;
    at = skip_space(at);
    if (at < end && *at == ',') ++at;
  }
  return false;
}

bool is_execution_trace(const std::string& path, const OpenOptions& options) {
  std::string ignored;
  const Result<PaddedBytes> text = load(path, options, ignored);
  return text && looks_like_execution_trace(text->text());
}

Result<ExecutionTrace> read_execution_trace(PaddedBytes text, const std::string& path) {
  const auto kept = std::make_shared<const PaddedBytes>(std::move(text));
  ExecutionTrace trace;
  trace.file_text = kept;
  SONDE_TRY_VOID(Reader(kept->text(), path, trace).run());
  return trace;
}

Result<ExecutionTrace> open_execution_trace(const std::string& path, const OpenOptions& options) {
  std::string problem;
  SONDE_TRY(PaddedBytes text, load(path, options, problem));
  SONDE_TRY(ExecutionTrace trace, read_execution_trace(std::move(text), path));
  if (!problem.empty()) trace.problems.insert(trace.problems.begin(), std::move(problem));
  return trace;
}

}  // namespace sonde
