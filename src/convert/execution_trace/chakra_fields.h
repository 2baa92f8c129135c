// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The numbers of the fields that Sonde writes, from the messages in Chakra's et_def.proto. They are
// part of its file format and do not change.

#include <cstdint>

namespace sonde::detail {

enum class ChakraMetadataField : std::uint32_t { Version = 1, Attribute = 2 };

enum class ChakraNodeField : std::uint32_t {
  Id = 1,
  Name = 2,
  Type = 3,
  ControlDependencies = 4,
  DataDependencies = 5,
  StartMicros = 6,
  DurationMicros = 7,
  Inputs = 8,
  Outputs = 9,
  Attribute = 10,
};
enum class ChakraNodeType : std::int32_t {
  Metadata = 1,
  Compute = 4,
  Send = 5,
  Receive = 6,
  Collective = 7,
};

enum class ChakraValuesField : std::uint32_t { Values = 1, Shapes = 2, Types = 3 };

enum class ChakraAttributeField : std::uint32_t {
  Name = 1,
  Int64 = 9,
  Uint64 = 13,
  Bool = 27,
  String = 29,
};

}  // namespace sonde::detail
