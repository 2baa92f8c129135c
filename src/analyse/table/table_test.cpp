// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "analyse/testing/op_trace.h"
#include "sonde/analyse/events.h"
#include "trace/testing/little_memory.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::OpTrace;
using ::testing::StartsWith;

// train_step around mm (with empty inside) and add.
OpTrace four_events() {
  OpTrace t;
  t.annotation("train_step", 0, 1000).id(1);
  t.op("aten::mm", 100, 400).id(2).tensor({10, 20}).tensor({20, 30});
  t.op("aten::empty", 110, 140).id(3).scalar("[10, 30]", ArgumentKind::ScalarList);
  t.op("aten::add", 450, 950).id(4).tensor({300}).tensor({300});
  return t;
}

OpTrace with_kernel() {
  OpTrace t = four_events();
  t.kernel("gemm_kernel", 300, 550).launched_by(2);
  t.gpu_annotation("train_step", 299, 551).id(1);
  return t;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result(1);
  for (const char c : text) {
    if (c == '\n') {
      result.emplace_back();
    } else {
      result.back() += c;
    }
  }
  result.pop_back();
  return result;
}

std::string words(const std::string& line) {
  std::string result;
  bool gap = false;
  for (const char c : line) {
    if (c == ' ') {
      gap = !result.empty();
      continue;
    }
    if (gap) result += ' ';
    gap = false;
    result += c;
  }
  return result;
}

std::vector<std::string> row_names(const std::string& table) {
  std::vector<std::string> result;
  int separators = 0;
  for (const std::string& line : lines(table)) {
    if (line[0] == '-') {
      ++separators;
    } else if (separators == 2) {
      const std::string text = words(line);
      result.push_back(text.substr(0, text.find(' ')));
    }
  }
  return result;
}

TEST(Table, LooksLikePyTorchs) {
  OpTrace t = four_events();
  EXPECT_EQ(
      *function_events(t.build()).key_averages().table({.sort_by = "self_cpu_time_total"}),
      "---------------  ------------  ------------  ------------  ------------  ------------  "
      "------------  \n"
      "           Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    "
      "# of Calls  \n"
      "---------------  ------------  ------------  ------------  ------------  ------------  "
      "------------  \n"
      "      aten::add        50.00%     500.000us        50.00%     500.000us     500.000us     "
      "        1  \n"
      "       aten::mm        27.00%     270.000us        30.00%     300.000us     300.000us     "
      "        1  \n"
      "     train_step        20.00%     200.000us       100.00%       1.000ms       1.000ms     "
      "        1  \n"
      "    aten::empty         3.00%      30.000us         3.00%      30.000us      30.000us     "
      "        1  \n"
      "---------------  ------------  ------------  ------------  ------------  ------------  "
      "------------  \n"
      "Self CPU time total: 1.000ms\n");
}

TEST(Table, ShowsDeviceTimeAsPyTorchDoes) {
  OpTrace t = with_kernel();
  const std::string table =
      *function_events(t.build()).key_averages().table({.sort_by = "self_cuda_time_total"});
  const std::vector<std::string> all = lines(table);
  EXPECT_THAT(all[1], HasSubstr("   Self CUDA   Self CUDA %    CUDA total  CUDA time avg"));
  const auto device_cells = [](const std::string& line) { return words(line.substr(15 + 5 * 14)); };
  EXPECT_EQ(device_cells(all[3]), "252.000us 100.80% 252.000us 252.000us 1");
  EXPECT_EQ(device_cells(all[4]), "250.000us 100.00% 250.000us 250.000us 1");
  EXPECT_EQ(device_cells(all[5]), "250.000us 100.00% 250.000us 250.000us 1");
  EXPECT_EQ(device_cells(all[6]), "0.000us 0.00% 250.000us 250.000us 1");
  EXPECT_THAT(row_names(table), ElementsAre("train_step", "aten::mm", "gemm_kernel", "train_step",
                                            "aten::empty", "aten::add"));
  EXPECT_EQ(all.back(), "Self CUDA time total: 250.000us");
}

TEST(Table, TheHeaderIsOneCharacterWiderThanTheRowsFromTheAverageOn) {
  OpTrace t = with_kernel();
  t.memory(200, 512, DeviceType::Cuda);
  const std::vector<std::string> all = lines(*function_events(t.build()).key_averages().table());
  const auto end_of = [&](const char* title) { return all[1].find(title) + std::strlen(title); };
  EXPECT_EQ(all[0].find("  ", end_of("CUDA total") - 1), end_of("CUDA total"));
  EXPECT_EQ(all[0].find("  ", end_of("CUDA time avg") - 3), end_of("CUDA time avg") - 1);
  EXPECT_EQ(all[0].find("  ", end_of("Self CUDA Mem") - 4), end_of("Self CUDA Mem") - 2);
  EXPECT_EQ(all[1].size(), all[0].size() + 2);
  EXPECT_EQ(all[3].size(), all[0].size());
}

TEST(Table, WaitsAreInTheSumOfDeviceTimeAndAnnotationsAreNot) {
  OpTrace t = with_kernel();
  t.span("Stream Sync", SpanKind::CudaSync, t.thread(7), 600, 700);
  EXPECT_THAT(*function_events(t.build()).key_averages().table(),
              HasSubstr("Self CUDA time total: 350.000us\n"));
}

TEST(Table, OfEventsPrintsFlopsAndMemoryTogether) {
  OpTrace t;
  t.op("aten::add", 0, 10).tensor({300});
  t.memory(20, 512);
  t.flag("with_flops");
  const std::string table = *function_events(t.build()).table();
  EXPECT_THAT(row_names(table), ElementsAre("aten::add", "[memory]"));
  EXPECT_THAT(table, HasSubstr("     300.000  \n"));
  EXPECT_THAT(table, HasSubstr("          --  \n"));
}

TEST(Table, FlopsHaveTheUnitOfTheSmallest) {
  OpTrace t = four_events();
  t.op("aten::mm", 2000, 2001).tensor({100, 100}).tensor({100, 100});
  t.flag("with_flops");
  const std::string table = *function_events(t.build()).key_averages().table();
  EXPECT_THAT(lines(table)[1], HasSubstr(" Total FLOPs"));
  EXPECT_THAT(table, HasSubstr(" 2012000.000  \n"));
  EXPECT_THAT(table, HasSubstr("     300.000  \n"));
  EXPECT_THAT(table, HasSubstr("          --  \n"));
}

TEST(Table, KnowsTheOldSpellingsOfSortKeys) {
  for (const char* key : {"self_cuda_time_total", "self_xpu_time_total", "cuda_memory_usage",
                          "privateuse1_time", "self_hpu_time_total", "device_time", "count"}) {
    EXPECT_TRUE(is_sort_key(key)) << key;
  }
  for (const char* key : {"", "cuda", "key", "Count"}) {
    EXPECT_FALSE(is_sort_key(key)) << key;
  }
}

TEST(Table, RefusesKeysColumnsAndUnitsThatAreNone) {
  OpTrace t = four_events();
  const EventList events = function_events(t.build());
  const std::pair<TableOptions, const char*> wrong[] = {
      {{.sort_by = "speed"}, "unknown sort key \"speed\"; there are: cpu_time,"},
      {{.time_unit = "h"}, "unknown unit of time \"h\"; there are: s, ms, us"},
      {{.columns = {"p50", "p51"}}, "unknown column \"p51\"; there are: p50,"},
  };
  for (const auto& [options, message] : wrong) {
    EXPECT_THAT(events.table(options).error().message, StartsWith(message));
    EXPECT_THAT(events.key_averages().table(options).error().message, StartsWith(message));
    EXPECT_THAT(events.key_averages().rows(options).error().message, StartsWith(message));
    EXPECT_FALSE(KeyAverages().table(options)) << "even without rows";
  }
}

TEST(Table, RowLimitCountsShownRows) {
  OpTrace t = four_events();
  const KeyAverages averages = function_events(t.build()).key_averages();
  EXPECT_EQ(row_names(*averages.table({.row_limit = 2})).size(), 2u);
  EXPECT_EQ(row_names(*averages.table({.row_limit = 0})).size(), 0u);
  EXPECT_EQ(row_names(*averages.table({.row_limit = -1})).size(), 4u);
  EXPECT_THAT(row_names(*averages.table({.row_limit = 2, .top_level_events_only = true})),
              ElementsAre("train_step"));
}

TEST(Table, AHeaderStandsUnderALineOfItsWidth) {
  OpTrace t = four_events();
  const std::vector<std::string> all = lines(*function_events(t.build()).key_averages().table(
      {.header = "my run", .top_level_events_only = true}));
  EXPECT_EQ(all[0], std::string(all[4].size() - 2, '='));
  EXPECT_EQ(all[1], "my run");
  EXPECT_EQ(all[2], all[0]);
  EXPECT_EQ(all[3], "This report only display top-level ops statistics");
}

TEST(Table, CutsNamesThatAreTooLong) {
  OpTrace t;
  t.op(std::string(60, 'n'), 0, 10);
  const EventList events = function_events(t.build());
  EXPECT_THAT(*events.key_averages().table(), HasSubstr(std::string(52, 'n') + "...  "));
  EXPECT_THAT(*events.key_averages().table({.max_name_column_width = std::nullopt}),
              HasSubstr(std::string(60, 'n')));
}

TEST(Table, CountsCharactersAndNotBytes) {
  OpTrace t;
  t.op("größe", 0, 10);
  const std::vector<std::string> all = lines(*function_events(t.build()).key_averages().table());
  EXPECT_EQ(all[0].substr(0, 11), "---------  ");
  EXPECT_EQ(all[3].substr(0, 11), "    größe");  // two bytes more than characters
}

TEST(Table, ForcesAUnitOfTime) {
  OpTrace t = four_events();
  const std::string table = *function_events(t.build()).key_averages().table({.time_unit = "s"});
  EXPECT_THAT(table, HasSubstr("Self CPU time total: 0.001s\n"));
  EXPECT_THAT(table, Not(HasSubstr("us")));
}

TEST(Table, TheUnitIsChosenByTheValueAndNotByItsText) {
  OpTrace t;
  const SpanId span = t.op("op", 0, 1).span();
  t.builder().spans().duration_ns.set(span, 999'999);
  EXPECT_THAT(*function_events(t.build()).key_averages().table(), HasSubstr("999.999us"));
  OpTrace five;
  for (const Nanos duration : {1'000'000, 1'000'000, 1'000'000, 1'000'000, 999'998}) {
    const SpanId op = five.op("op", 0, 1).span();
    five.builder().spans().start_ns.set(op, 2'000'000 * static_cast<Nanos>(op.index()));
    five.builder().spans().duration_ns.set(op, duration);
  }
  EXPECT_THAT(*function_events(five.build()).key_averages().table(), HasSubstr(" 1000.000us "));
}

TEST(Table, MemoryHasBinaryUnits) {
  OpTrace t;
  t.op("op", 0, 10);
  t.memory(1, 1048575);
  t.memory(2, -2097152, DeviceType::Cuda);
  t.memory(3, 512, DeviceType::Cuda);
  t.kernel("k", 0, 10);
  const std::string table = *function_events(t.build()).key_averages().table();
  EXPECT_THAT(table, HasSubstr("1024.00 KB"));
  EXPECT_THAT(table, Not(HasSubstr("CUDA Mem")));  // none is positive
}

TEST(Table, GroupsByShape) {
  OpTrace t;
  t.op("aten::mm", 0, 10).tensor({2, 3}).tensor({3, 4});
  t.op("aten::mm", 10, 20).tensor({2, 3}).tensor({3, 4}).scalar("1");
  t.op("aten::mm", 20, 30).tensor({2, 3}).tensor({3, 4});
  t.op("aten::relu", 30, 40);
  const EventList events = function_events(t.build());
  const KeyAverages averages = events.key_averages({.group_by_input_shape = true});
  ASSERT_EQ(averages.size(), 3u);
  EXPECT_EQ(averages[0].input_shapes, "[[2, 3], [3, 4]]");
  EXPECT_EQ(averages[0].count, 2u);
  EXPECT_EQ(averages[1].input_shapes, "[[2, 3], [3, 4], []]");
  EXPECT_EQ(averages[2].input_shapes, "[]");
  EXPECT_THAT(lines(*averages.table())[1], HasSubstr("Input Shapes"));
  EXPECT_THAT(lines(*events.key_averages().table())[1], Not(HasSubstr("Input Shapes")));
  EXPECT_THAT(*averages.table({.max_shapes_column_width = 12}), HasSubstr("[[2, 3], [3,  \n"));
}

TEST(Table, GroupsByStackWithALineForEachFrame) {
  OpTrace t;
  t.op("op", 0, 10).stack({"a.py(1): f", "main.py(2): main"});
  t.op("op", 10, 20).stack({"a.py(1): f", "other.py(3): main"});
  const EventList events = function_events(t.build());
  EXPECT_EQ(events.key_averages().size(), 1u);
  EXPECT_EQ(events.key_averages({.group_by_stack_n = 1}).size(), 1u);
  const KeyAverages averages = events.key_averages({.group_by_stack_n = 2});
  ASSERT_EQ(averages.size(), 2u);
  const std::vector<std::string> all = lines(*averages.table());
  EXPECT_THAT(all[1], HasSubstr("Source Location"));
  EXPECT_THAT(all[3], HasSubstr("a.py(1): f"));
  EXPECT_EQ(words(all[4]), "main.py(2): main");
  EXPECT_EQ(words(all[5]), "");
  EXPECT_EQ(all[5].size(), all[3].size());
}

TEST(Table, KeepsTheEndOfALongSource) {
  OpTrace t;
  t.op("op", 0, 10).stack({"/very/long/path/to/a/file.py(1): function"});
  const KeyAverages averages = function_events(t.build()).key_averages({.group_by_stack_n = 1});
  const std::string table = *averages.table({.max_src_column_width = 20});
  EXPECT_THAT(table, HasSubstr("  ...e.py(1): function  \n"));
}

TEST(Table, SourceAndFlopsStandUnderTheirOwnHeaders) {
  OpTrace t;
  t.op("aten::add", 0, 10).tensor({300}).stack({"a.py(1): f"});
  t.flag("with_flops");
  const std::vector<std::string> all =
      lines(*function_events(t.build()).key_averages({.group_by_stack_n = 1}).table());
  EXPECT_EQ(all[1].find("Source Location"), all[3].find("a.py(1): f"));
  EXPECT_EQ(words(all[3].substr(all[3].find("a.py(1): f") + 10)), "300.000");
}

TEST(Table, AsynchronousRowsHaveNoShare) {
  OpTrace t;
  t.op("op", 0, 10);
  t.op("work", 2, 8).async();
  const std::vector<std::string> all = lines(*function_events(t.build()).key_averages().table());
  EXPECT_EQ(words(all[4]), "work 0.00% 0.000us 0 6.000us 6.000us 1");
}

TEST(Table, OfEventsHasARowForEach) {
  OpTrace t = four_events();
  EXPECT_THAT(row_names(*function_events(t.build()).table()),
              ElementsAre("train_step", "aten::mm", "aten::empty", "aten::add"));
}

TEST(Table, OfEventsShowsArguments) {
  OpTrace t;
  const SpanId scope = t.span("scope", SpanKind::Scope, t.main(), 0, 10).span();
  const SpanId op = t.op("op", 2, 4).span();
  const auto add = [&t](SpanId span, const char* key, const char* json) {
    t.builder().extras().push_back(
        {TableKind::Spans, span.value(), t.builder().intern(key), t.builder().intern(json)});
  };
  add(op, "foreign", "1");
  add(scope, "batch", "3");
  add(scope, "path", R"("p")");
  add(scope, "event.id", "7");
  const EventList events = function_events(t.build());
  EXPECT_EQ(events[0].arguments(), R"({"batch": 3, "path": "p"})");
  EXPECT_EQ(events[1].arguments(), R"({"foreign": 1})");
  const std::vector<std::string> all = lines(events.table().value());
  EXPECT_THAT(all[1], ::testing::EndsWith("Arguments  "));
  EXPECT_THAT(all[3], ::testing::EndsWith(R"({"batch": 3, "path": "p"}  )"));
  EXPECT_THAT(all[4], ::testing::Not(::testing::HasSubstr("foreign"))) << "no scope";
  EXPECT_THAT(events.key_averages().table().value(),
              ::testing::Not(::testing::HasSubstr("Arguments")));
}

TEST(Averages, ATotalAddsNestedEventsAgain) {
  OpTrace t = four_events();
  const EventAverage total = function_events(t.build()).total_average();
  EXPECT_EQ(total.key, "Total");
  EXPECT_EQ(total.count, 4u);
  EXPECT_DOUBLE_EQ(total.cpu_total_us, 1830);
  EXPECT_DOUBLE_EQ(total.self_cpu_us, 1000);
}

TEST(Averages, GroupByOverloadName) {
  OpTrace t;
  t.op("aten::add", 0, 10).overload("Tensor");
  t.op("aten::add", 10, 20).overload("out");
  const EventList events = function_events(t.build());
  EXPECT_EQ(events.key_averages().size(), 1u);
  const KeyAverages averages = events.key_averages({.group_by_overload_name = true});
  ASSERT_EQ(averages.size(), 2u);
  EXPECT_EQ(averages[1].overload_name, "out");
  EXPECT_THAT(lines(*averages.table())[1], HasSubstr("Overload Name"));
}

TEST(Averages, AHostAnnotationAndItsTwinOnTheDeviceAreTwoRows) {
  OpTrace t = with_kernel();
  const KeyAverages averages = function_events(t.build()).key_averages();
  std::vector<DeviceType> devices;
  for (const EventAverage& row : averages) {
    if (row.key == "train_step") devices.push_back(row.device_type);
  }
  EXPECT_THAT(devices, ElementsAre(DeviceType::Cpu, DeviceType::Cuda));
}

TEST(ExtraFigures, DeviceTimeIsCountedOnceWhereKernelsOverlap) {
  OpTrace t;
  t.op("outer", 0, 100).id(1);
  t.op("inner", 10, 60).id(2);
  t.kernel("a", 100, 130).launched_by(2);
  t.kernel("b", 120, 150).launched_by(2);
  t.kernel("c", 200, 210).launched_by(1);
  const KeyAverages averages = function_events(t.build()).key_averages();
  const std::vector<ExtraFigures> extra = averages.extra_figures();
  ASSERT_EQ(averages[0].key, "outer");
  EXPECT_DOUBLE_EQ(averages[0].device_total_us, 70);
  EXPECT_EQ(extra[0].device_union_ns, 60'000);
  EXPECT_EQ(extra[0].launches, 3u);
  ASSERT_EQ(averages[1].key, "inner");
  EXPECT_EQ(extra[1].device_union_ns, 50'000);
  EXPECT_EQ(extra[1].launches, 2u);
}

TEST(ExtraFigures, ARowThatContainsItselfCountsAKernelOnce) {
  OpTrace t;
  t.op("f", 0, 100).id(1);
  t.op("f", 10, 20).id(2);
  t.op("g", 30, 40).id(3);
  t.kernel("k", 100, 130).launched_by(2);
  const std::vector<ExtraFigures> extra = function_events(t.build()).key_averages().extra_figures();
  EXPECT_EQ(extra[0].launches, 1u);
  EXPECT_EQ(extra[0].device_union_ns, 30'000);
}

// Each call launches its own kernel, which counts for all calls around it.
OpTrace nested_calls(int count) {
  OpTrace t;
  for (int i = 0; i < count; ++i) t.op("call" + std::to_string(i), i, 3 * count - i).id(i + 1);
  for (int i = 0; i < count; ++i) {
    const Nanos start_us = 10 * count + 2 * i;
    t.kernel("k", start_us, start_us + 1).launched_by(i + 1);
  }
  return t;
}

TEST(ExtraFigures, OfNestedCallsCountWhatTheInnerOnesLaunched) {
  constexpr std::size_t kCalls = 50;
  OpTrace t = nested_calls(kCalls);
  const KeyAverages averages = function_events(t.build()).key_averages();
  const std::vector<ExtraFigures> extra = averages.extra_figures();
  for (std::size_t i = 0; i < kCalls; ++i) {
    ASSERT_EQ(averages[i].key, "call" + std::to_string(i));
    EXPECT_EQ(extra[i].launches, kCalls - i);
    EXPECT_EQ(extra[i].device_union_ns, static_cast<Nanos>(kCalls - i) * 1000);
  }
}

TEST(ExtraFigures, TakeMemoryForTheCallsAndNotForTheirDepth) {
  OpTrace t = nested_calls(3'000);
  const KeyAverages averages = function_events(t.build()).key_averages();
  const auto work = [&] {
    testing::allow_more_memory(std::size_t{64} << 20);
    std::exit(averages.extra_figures()[0].launches == 3'000 ? 0 : 1);
  };
  EXPECT_EXIT(work(), ::testing::ExitedWithCode(0), "");
}

TEST(ExtraFigures, QuantilesAreValuesThatOccurred) {
  OpTrace t;
  for (int i = 1; i <= 20; ++i) t.op("op", i * 100, i * 100 + i);
  const ExtraFigures extra = function_events(t.build()).key_averages().extra_figures()[0];
  EXPECT_EQ(extra.p50_ns, 10'000);
  EXPECT_EQ(extra.p95_ns, 19'000);
  EXPECT_EQ(extra.max_ns, 20'000);
}

TEST(ExtraFigures, FlopsASecondAreOverTheTimeOnTheDevice) {
  OpTrace t;
  t.op("aten::add", 0, 100).id(1).tensor({1000});
  t.kernel("k", 100, 102).launched_by(1);
  t.flag("with_flops");
  const KeyAverages averages = function_events(t.build()).key_averages();
  EXPECT_DOUBLE_EQ(averages.extra_figures()[0].flops_per_second, 1000 / 2e-6);
  EXPECT_THAT(*averages.table({.columns = {"launches", "flops_per_second"}}),
              HasSubstr("5.000e+08  \n"));
}

TEST(ExtraFigures, SortATableToo) {
  OpTrace t;
  t.op("often", 0, 1);
  t.op("often", 2, 3);
  t.op("long", 10, 20);
  EXPECT_THAT(row_names(*function_events(t.build()).key_averages().table({.sort_by = "max"})),
              ElementsAre("long", "often"));
}

TEST(Table, LeavesOutColumnsUntilItFits) {
  const EventList events = function_events(with_kernel().build());
  TableOptions options;
  options.sort_by = "self_cpu_time_total";
  options.columns = {"p95"};
  for (const std::size_t width : {60U, 80U, 100U, 140U}) {
    options.fit_width = width;
    const std::string text = *events.key_averages().table(options);
    const std::vector<std::string> all = lines(text);
    for (const std::string& line : all) EXPECT_LE(line.size(), width) << line;
    EXPECT_THAT(all[1], HasSubstr("Name"));
    EXPECT_THAT(all[1], HasSubstr("p95"));
    EXPECT_THAT(text, HasSubstr("Sorted by self_cpu_time_total, largest first"));
  }
  options.fit_width = 80;
  EXPECT_THAT(*events.key_averages().table(options), HasSubstr("Not enough room for: "));
  EXPECT_THAT(*events.key_averages().table(options), HasSubstr("# of Calls"));
  options.fit_width = 0;
  EXPECT_THAT(*events.key_averages().table(options), Not(HasSubstr("Sorted by")));
}

}  // namespace
}  // namespace sonde
