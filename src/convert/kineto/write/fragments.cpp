// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/fragments.h"

#include <charconv>

#include "base/json.h"
#include "convert/kineto/write/written_key.h"

namespace sonde {

namespace {

class ArgumentText {
 public:
  ArgumentText(TextBuffer& out, const Trace& trace, const JsonStrings& strings,
               std::string& scratch)
      : out_(out),
        trace_(trace),
        strings_(strings),
        arguments_(trace.op_arguments()),
        scratch_(scratch) {}

  void append(ArgumentListId list) {
    const std::int32_t count = trace_.argument_lists().count[list];
    if (count <= 0) return;
    first_ = trace_.argument_lists().first[list].index();
    last_ = first_ + static_cast<std::size_t>(count);
    if (has_inputs()) append_inputs();
    for (std::size_t row = first_; row < last_; ++row) append_keyword(row);
  }

 private:
  bool is_input(std::size_t row) const {
    return arguments_.role[row] == ArgumentRole::Input && arguments_.element[row] < 0;
  }
  bool has_inputs() const {
    for (std::size_t row = first_; row < last_; ++row) {
      if (is_input(row)) return true;
    }
    return false;
  }

  // Leaves out an array about which nothing is known, as older versions did. Scalars do not count:
  // they have no sizes and no type of their own.
  void append_inputs() {
    append_array(written_key<ArgKey::ConcreteInputs>(),
                 [this](std::size_t row) { append_quoted(arguments_.value[row]); });
    const auto has_type = [this](std::size_t row) { return arguments_.dtype[row].valid(); };
    if (is_known(has_type, true)) {
      append_array(written_key<ArgKey::InputType>(), [this](std::size_t row) { append_type(row); });
    }
    const auto has_strides = [this](std::size_t row) { return arguments_.strides_count[row] >= 0; };
    if (is_known(has_strides, false)) {
      append_array(written_key<ArgKey::InputStrides>(), [this](std::size_t row) {
        append_nested(row, arguments_.strides_first, arguments_.strides_count);
      });
    }
    const auto has_dims = [this](std::size_t row) { return arguments_.dims_count[row] >= 0; };
    if (is_known(has_dims, false)) {
      append_array(written_key<ArgKey::InputDims>(), [this](std::size_t row) {
        append_nested(row, arguments_.dims_first, arguments_.dims_count);
      });
    }
  }

  // Whether some tensor has it, or there are no tensors. `kinds_tell`: other kinds of arguments
  // imply it too.
  template <typename Has>
  bool is_known(const Has& has, bool kinds_tell) const {
    bool has_tensors = false;
    for (std::size_t row = first_; row < last_; ++row) {
      if (arguments_.role[row] != ArgumentRole::Input) continue;
      if (kinds_tell && !is_input(row)) continue;
      if (has(row)) return true;
      const bool is_tensor = arguments_.kind[row] == ArgumentKind::Tensor;
      if (kinds_tell && !is_tensor && arguments_.kind[row] != ArgumentKind::TensorList) return true;
      has_tensors |= is_tensor;
    }
    return !has_tensors;
  }

  template <typename Item>
  void append_array(std::string_view key, const Item& item) {
    out_.append(key);
    out_.append("[");
    std::string_view separator;
    for (std::size_t row = first_; row < last_; ++row) {
      if (!is_input(row)) continue;
      out_.append(separator);
      item(row);
      separator = ", ";
    }
    out_.append("]");
  }

  void append_quoted(StringId text) {
    out_.append("\"");
    out_.append(strings_.escaped(text, scratch_));
    out_.append("\"");
  }

  void append_type(std::size_t row) {
    switch (arguments_.kind[row]) {
      case ArgumentKind::TensorList:
        return out_.append("\"TensorList\"");
      case ArgumentKind::Scalar:
        return out_.append("\"Scalar\"");
      case ArgumentKind::ScalarList:
        return out_.append("\"ScalarList\"");
      default:
        return append_quoted(arguments_.dtype[row]);
    }
  }

  // Appends the numbers of an argument, or a list with those of its elements.
  void append_nested(std::size_t row, const Column<DimId>& first,
                     const Column<std::int32_t>& count) {
    if (arguments_.kind[row] != ArgumentKind::TensorList) return append_numbers(row, first, count);
    out_.append("[");
    for (std::size_t at = row + 1; at < last_ && arguments_.element[at] >= 0; ++at) {
      if (at > row + 1) out_.append(", ");
      append_numbers(at, first, count);
    }
    out_.append("]");
  }

  void append_numbers(std::size_t row, const Column<DimId>& first,
                      const Column<std::int32_t>& count) {
    out_.append("[");
    for (std::int32_t i = 0; i < count[row]; ++i) {
      if (i > 0) out_.append(", ");
      char* at = out_.room(kMaxNumberBytes);
      const std::size_t dim = first[row].index() + static_cast<std::size_t>(i);
      out_.advance(put_integer(at, trace_.dims().value[dim]));
    }
    out_.append("]");
  }

  void append_keyword(std::size_t row) {
    if (arguments_.role[row] != ArgumentRole::Keyword || arguments_.element[row] >= 0) return;
    out_.append(", ");
    append_quoted(arguments_.name[row]);
    out_.append(": ");
    const std::string_view value = trace_.string(arguments_.value[row]);
    if (validate_json(value)) {
      out_.append(value);
    } else {
      append_quoted(arguments_.value[row]);
    }
  }

  TextBuffer& out_;
  const Trace& trace_;
  const JsonStrings& strings_;
  const OpArgumentTable& arguments_;
  std::string& scratch_;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
};

void append_hex(TextBuffer& out, std::uint64_t value) {
  std::array<char, 24> text{'0', 'x'};
  const auto end = std::to_chars(text.data() + 2, text.data() + text.size(), value, 16).ptr;
  out.append({text.data(), static_cast<std::size_t>(end - text.data())});
}

// Appends `file(line): function`, or as much of it as is known.
void append_frame(TextBuffer& out, const Trace& trace, const JsonStrings& strings, FrameId frame,
                  std::string& scratch) {
  const FrameTable& frames = trace.frames();
  if (frames.file[frame].valid()) {
    out.append(strings.escaped(frames.file[frame], scratch));
    out.append("(");
    out.advance(put_integer(out.room(kMaxNumberBytes), frames.line[frame]));
    out.append("): ");
  }
  if (frames.function[frame].valid()) {
    out.append(strings.escaped(frames.function[frame], scratch));
  } else if (frames.binary[frame].valid()) {
    out.append(strings.escaped(frames.binary[frame], scratch));
    out.append("+");
    append_hex(out, frames.binary_offset[frame]);
  } else if (frames.address[frame] != 0) {
    append_hex(out, frames.address[frame]);
  }
}

}  // namespace

void append_arguments(TextBuffer& out, const Trace& trace, const JsonStrings& strings,
                      ArgumentListId list, std::string& scratch) {
  ArgumentText(out, trace, strings, scratch).append(list);
}

void append_stack(TextBuffer& out, const Trace& trace, const JsonStrings& strings, StackId stack,
                  std::string& scratch) {
  out.append(written_key<ArgKey::CallStack>());
  out.append("\"");
  for (; stack.valid(); stack = trace.stacks().parent[stack]) {
    if (const FrameId frame = trace.stacks().frame[stack]; frame.valid()) {
      append_frame(out, trace, strings, frame, scratch);
    }
    out.append(";");
  }
  out.append("\"");
}

void append_module(TextBuffer& out, const Trace& trace, const JsonStrings& strings, ModuleId module,
                   std::string& scratch) {
  std::vector<ModuleId> chain;
  for (; module.valid(); module = trace.modules().parent[module]) chain.push_back(module);
  out.append(written_key<ArgKey::ModuleHierarchy>());
  out.append("\"");
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
    out.append(strings.escaped(trace.modules().name[*at], scratch));
    if (trace.modules().class_name[*at].valid()) {
      out.append("(");
      out.append(strings.escaped(trace.modules().class_name[*at], scratch));
      out.append(")");
    }
    if (trace.modules().method[*at].valid()) {
      out.append("::");
      out.append(strings.escaped(trace.modules().method[*at], scratch));
    }
    out.append(".");
  }
  out.append("\"");
}

}  // namespace sonde
