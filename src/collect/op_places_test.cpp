// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Stacks and modules of operators, from a source's call to the rows of a trace.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "collect/testing/recorded.h"
#include "sonde/source/op.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using testing::find_span;
using testing::record_once;

struct Op {
  explicit Op(const char* text, std::uint8_t scope = 0, std::int64_t sequence_number = -1,
              std::uint64_t forward_thread = 0) {
    const sonde_op op = {
        sizeof(op), sonde_name(text, std::strlen(text)), scope, sequence_number, forward_thread, 0};
    EXPECT_TRUE(sonde_op_begin(&op));
  }
  ~Op() { sonde_end(); }
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;
};

// The functions of a span's stack, innermost first.
std::vector<std::string> stack_of(const Trace& trace, const char* name) {
  std::vector<std::string> functions;
  const SpanId span = find_span(trace, name);
  for (StackId at = trace.spans().stack[span]; at.valid(); at = trace.stacks().parent[at])
    functions.emplace_back(trace.string(trace.frames().function[trace.stacks().frame[at]]));
  return functions;
}

// The module of a span, such as "Net.layer1".
std::string module_of(const Trace& trace, const char* name) {
  std::string path;
  for (ModuleId at = trace.spans().module[find_span(trace, name)]; at.valid();
       at = trace.modules().parent[at]) {
    path.insert(0, "/" + std::string(trace.string(trace.modules().name[at])));
  }
  return path;
}

TEST(OpPlaces, StacksShareTheirOuterEnds) {
  const Trace trace = record_once([] {
    const std::uint32_t main = sonde_frame("main", "main.cpp", 10);
    const std::uint32_t train = sonde_frame("train", "train.cpp", 20);
    const std::uint32_t test = sonde_frame("test", "", 0);
    const std::uint32_t frames[][2] = {{train, main}, {test, main}};
    {
      const Op op("first");
      sonde_op_place(sonde_stack(frames[0], 2), 0);
    }
    {
      const Op op("second");
      sonde_op_place(sonde_stack(frames[1], 2), 0);
    }
    const Op op("third");
    sonde_op_place(sonde_stack(frames[0], 2), 0);
  });
  EXPECT_THAT(stack_of(trace, "first"), ElementsAre("train", "main"));
  EXPECT_THAT(stack_of(trace, "second"), ElementsAre("test", "main"));
  EXPECT_EQ(trace.spans().stack[find_span(trace, "first")],
            trace.spans().stack[find_span(trace, "third")]);
  EXPECT_EQ(trace.stacks().size(), 3u);
  const FrameId train = trace.stacks().frame[trace.spans().stack[find_span(trace, "first")]];
  EXPECT_EQ(trace.string(trace.frames().file[train]), "train.cpp");
  EXPECT_EQ(trace.frames().line[train], 20);
  const FrameId test = trace.stacks().frame[trace.spans().stack[find_span(trace, "second")]];
  EXPECT_FALSE(trace.frames().file[test].valid());
  EXPECT_EQ(trace.frames().line[test], -1);
}

TEST(OpPlaces, FramesOfPythonAreOfPython) {
  const Trace trace = record_once([] {
    const std::uint32_t frame = sonde_python_frame("forward", "net.py", 12);
    const Op op("op");
    sonde_op_place(sonde_stack(&frame, 1), 0);
  });
  const FrameId frame = trace.stacks().frame[trace.spans().stack[find_span(trace, "op")]];
  EXPECT_EQ(trace.frames().kind[frame], FrameKind::Python);
  EXPECT_EQ(trace.string(trace.frames().file[frame]), "net.py");
  EXPECT_EQ(trace.frames().line[frame], 12);
}

TEST(OpPlaces, AddressesThatNobodyCanNameStayAddresses) {
  const Trace trace = record_once([] {
    const std::uint32_t frame = sonde_native_frame("/nowhere/libgone.so", "00ff", 0x1234);
    const Op op("op");
    sonde_op_place(sonde_stack(&frame, 1), 0);
  });
  const FrameId frame = trace.stacks().frame[trace.spans().stack[find_span(trace, "op")]];
  EXPECT_EQ(trace.frames().kind[frame], FrameKind::Native);
  EXPECT_FALSE(trace.frames().function[frame].valid());
  EXPECT_EQ(trace.string(trace.frames().binary[frame]), "/nowhere/libgone.so");
  EXPECT_EQ(trace.frames().binary_offset[frame], 0x1234u);
}

TEST(OpPlaces, WhatRunsInsideAModuleBelongsToIt) {
  const Trace trace = record_once([] {
    const std::uint32_t net = sonde_module(0, "Net", "Net", "forward");
    const std::uint32_t conv = sonde_module(net, "conv", "Conv2d", "forward");
    const Op outer("nn.Module: Net");
    sonde_op_place(0, net);
    const Op between("aten::relu");
    const Op inner("nn.Module: Net.conv");
    sonde_op_place(0, conv);
    const Op op("aten::conv2d");
    const Op below("aten::convolution");
  });
  EXPECT_EQ(module_of(trace, "nn.Module: Net"), "/Net");
  EXPECT_EQ(module_of(trace, "aten::relu"), "/Net");
  EXPECT_EQ(module_of(trace, "aten::convolution"), "/Net/conv");
  const ModuleId conv = trace.spans().module[find_span(trace, "aten::conv2d")];
  EXPECT_EQ(trace.string(trace.modules().class_name[conv]), "Conv2d");
  EXPECT_EQ(trace.string(trace.modules().method[conv]), "forward");
}

// The gradient with sequence number 5 runs on another thread, and so does what it calls.
TEST(OpPlaces, GradientsBelongToTheModuleOfTheirOperator) {
  const Trace trace = record_once([] {
    sonde_thread_is(1);
    {
      const Op scope("nn.Module: Net");
      sonde_op_place(0, sonde_module(0, "Net", "Net", "forward"));
      const Op op("aten::mm", 0, 5);
    }
    {
      const Op other("aten::sum", 0, 6);
    }
    std::thread([] {
      sonde_thread_is(2);
      {
        const Op gradient("MmBackward0", 1, 5, 1);
        const Op inside("aten::t");
      }
      const Op other("SumBackward0", 1, 6, 1);
    }).join();
  });
  EXPECT_EQ(module_of(trace, "MmBackward0"), "/Net");
  EXPECT_EQ(module_of(trace, "aten::t"), "/Net");
  EXPECT_EQ(module_of(trace, "SumBackward0"), "");
  EXPECT_EQ(module_of(trace, "aten::sum"), "");
}

TEST(OpPlaces, NumbersOfNothingAreNoPlaces) {
  const Trace trace = record_once([] {
    const Op op("op");
    sonde_op_place(123'456'789, 987'654'321);
  });
  EXPECT_FALSE(trace.spans().stack[find_span(trace, "op")].valid());
  EXPECT_FALSE(trace.spans().module[find_span(trace, "op")].valid());
}

TEST(OpPlaces, OfAllLengthsFitTheDictionary) {
  const std::string long_text(100'000, 'x');
  const Trace trace = record_once([&] {
    const std::uint32_t frame = sonde_frame(long_text.c_str(), long_text.c_str(), 4'000'000'000);
    const std::vector<std::uint32_t> frames(5'000, frame);
    const Op op("op");
    sonde_op_place(sonde_stack(frames.data(), frames.size()),
                   sonde_module(0, long_text.c_str(), long_text.c_str(), long_text.c_str()));
  });
  EXPECT_EQ(stack_of(trace, "op").size(), 256u);
  EXPECT_EQ(module_of(trace, "op").size(), 1201u);
}

}  // namespace
}  // namespace sonde
