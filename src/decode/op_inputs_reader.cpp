// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/op_inputs_reader.h"

#include <vector>

#include "base/bytes.h"
#include "sonde/source/op_inputs.h"

namespace sonde {
namespace {

constexpr std::uint64_t kMostDims = 1024;
constexpr std::uint64_t kMostDevices = 1 << 16;

class Reader {
 public:
  Reader(TraceBuilder& builder, std::string_view bytes,
         const std::function<StringId(std::uint64_t)>& type_name)
      : builder_(builder), in_(bytes.data(), bytes.size()), type_name_(type_name) {}

  ArgumentListId read() {
    for (std::int32_t index = 0; in_.ok() && !in_.at_end(); ++index) argument(index);
    if (!in_.ok()) return {};
    ArgumentListRow list;
    list.first = OpArgumentId(builder_.op_arguments().size());
    list.count = static_cast<std::int32_t>(rows_.size());
    for (const OpArgumentRow& row : rows_) builder_.op_arguments().push_back(row);
    return builder_.argument_lists().push_back(list);
  }

 private:
  void argument(std::int32_t index) {
    OpArgumentRow row;
    row.index = index;
    std::uint8_t tag = next_tag(row);
    if (tag == OpInputs::kKeyword) {
      row.role = ArgumentRole::Keyword;
      row.name = builder_.intern(in_.string());
      tag = next_tag(row);
    }
    switch (tag) {
      case OpInputs::kNone:
        break;
      case OpInputs::kTensor:
        tensor(row);
        break;
      case OpInputs::kTensorList:
        return tensor_list(row);
      case OpInputs::kScalar:
        row.kind = ArgumentKind::Scalar;
        row.value = builder_.intern(in_.string());
        break;
      case OpInputs::kScalarList:
        row.kind = ArgumentKind::ScalarList;
        row.value = builder_.intern(in_.string());
        break;
      case OpInputs::kString:
        row.kind = ArgumentKind::String;
        row.value = builder_.intern(in_.string());
        break;
      default:
        in_.fail();
    }
    rows_.push_back(row);
  }

  // If a device comes first, puts it into the row.
  std::uint8_t next_tag(OpArgumentRow& row) {
    const auto tag = in_.read<std::uint8_t>();
    if (tag != OpInputs::kDevice) return tag;
    const std::uint64_t type = in_.varint();
    const std::uint64_t index = in_.varint();
    if (type > 0xff || index > kMostDevices) in_.fail();
    row.device_type = static_cast<DeviceType>(type);
    if (!is_known(row.device_type)) row.device_type = DeviceType::Unknown;
    row.device_index = static_cast<std::int32_t>(index) - 1;
    return in_.read<std::uint8_t>();
  }

  void tensor(OpArgumentRow& row) {
    row.kind = ArgumentKind::Tensor;
    row.dtype = type_name_(in_.varint());
    numbers(row.dims_first, row.dims_count);
    numbers(row.strides_first, row.strides_count);
  }

  void tensor_list(OpArgumentRow row) {
    row.kind = ArgumentKind::TensorList;
    rows_.push_back(row);
    const std::uint64_t count = in_.varint();
    for (std::uint64_t element = 0; element < count && in_.ok(); ++element) {
      OpArgumentRow item;
      item.index = row.index;
      item.element = static_cast<std::int32_t>(element);
      const std::uint8_t tag = next_tag(item);
      if (tag == OpInputs::kTensor) {
        tensor(item);
      } else if (tag != OpInputs::kNone) {
        in_.fail();
      }
      rows_.push_back(item);
    }
  }

  void numbers(DimId& first, std::int32_t& count) {
    const std::uint64_t wanted = in_.varint();
    if (wanted > kMostDims) return in_.fail();
    count = static_cast<std::int32_t>(wanted);
    if (wanted > 0) first = DimId(builder_.dims().size());
    for (std::uint64_t i = 0; i < wanted; ++i) {
      const std::uint64_t zigzag = in_.varint();
      const auto value = static_cast<std::int64_t>((zigzag >> 1) ^ (0 - (zigzag & 1)));
      builder_.dims().push_back({value});
    }
  }

  TraceBuilder& builder_;
  ByteReader in_;
  const std::function<StringId(std::uint64_t)>& type_name_;
  std::vector<OpArgumentRow> rows_;
};

}  // namespace

ArgumentListId read_op_inputs(TraceBuilder& builder, std::string_view bytes,
                              const std::function<StringId(std::uint64_t)>& type_name) {
  return Reader(builder, bytes, type_name).read();
}

}  // namespace sonde
