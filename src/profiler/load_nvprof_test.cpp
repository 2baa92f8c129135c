// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/profile/load_nvprof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "convert/testing/made_database.h"
#include "convert/testing/nvprof_tables.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using testing::MadeDatabase;

Result<EventList> load(const std::string& bytes) {
  const testing::TempDir dir;
  std::ofstream(dir.file("trace.prof"), std::ios::binary) << bytes;
  return load_nvprof(dir.file("trace.prof"));
}

// PyTorch's two joins over the database itself: ranges, and the kernels of all calls strictly
// inside one.
constexpr const char* kPyTorchsAnswer = R"(
  WITH ranges AS (
    SELECT b.id AS id, b.name AS name, b.timestamp AS first, e.timestamp AS last
    FROM CUPTI_ACTIVITY_KIND_MARKER b JOIN CUPTI_ACTIVITY_KIND_MARKER e ON b.id = e.id
    WHERE b.name <> 0 AND e.name = 0)
  SELECT ranges.id, first, last, value,
         (SELECT coalesce(sum(k.end - k.start), 0)
          FROM CUPTI_ACTIVITY_KIND_RUNTIME r
          JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL k ON k.correlationId = r.correlationId
          WHERE first < r.start AND r.end < last)
  FROM ranges JOIN StringTable ON _id_ = ranges.name ORDER BY first, last DESC)";

std::string our_answer(const EventList& events) {
  std::ostringstream text;
  for (const FunctionEvent event : events) {
    if (!event.is_user_annotation()) continue;
    text << event.id() << " " << events.start_ns() + event.start_ns() << " "
         << events.start_ns() + event.end_ns() << " " << event.name() << " "
         << std::llround(event.device_total_us() * 1000) << "\n";
  }
  return text.str();
}

TEST(LoadNvprof, GivesPyTorchsEvents) {
  MadeDatabase made;
  made.run(testing::kNvprofTables);
  made.run(testing::kNvprofRanges);
  const Result<EventList> events = load(made.bytes());
  ASSERT_TRUE(events) << events.error().message;
  EXPECT_EQ(our_answer(*events),
            "1 1000 9000 forward 700\n"
            "2 2000 3000 aten::mm, seq = 3 300\n");
  EXPECT_EQ(our_answer(*events), made.ask(kPyTorchsAnswer));
}

// Ranges that nest at random on one thread, with calls between them, also on a second thread.
TEST(LoadNvprof, GivesPyTorchsEventsOfManyRanges) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    MadeDatabase made;
    made.run(testing::kNvprofTables);
    made.run("BEGIN; INSERT INTO StringTable VALUES (3, 'add')");
    std::ostringstream sql;
    std::vector<int> open;
    int time = 1000;
    int made_ranges = 0;
    for (int step = 0; step < 120 || !open.empty(); ++step) {
      time += 1 + static_cast<int>(random() % 50);
      const auto choice = step < 120 ? random() % 3 : 1;
      const bool opens = choice == 0;
      if (opens || (choice == 1 && !open.empty())) {
        if (opens) open.push_back(++made_ranges);
        if (opens)
          sql << "INSERT INTO StringTable VALUES (" << 10 + made_ranges << ", 'r" << made_ranges
              << "');";
        sql << "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER (flags, timestamp, id, objectKind, objectId,"
            << " name, domain) VALUES (" << (opens ? 2 : 4) << ", " << time << ", " << open.back()
            << ", 2, x'0b0000000c000000', " << (opens ? 10 + made_ranges : 0) << ", 0);";
        if (!opens) open.pop_back();
      } else {
        const auto thread = 12 + random() % 2;
        sql << "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (cbid, start, end, processId, threadId,"
            << " correlationId, returnValue) VALUES (211, " << time << ", " << time + 1 << ", 11, "
            << thread << ", " << 1000 + step << ", 0);"
            << "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SELECT " << step << ", 0, "
            << time + 5 << ", " << time + 5 + static_cast<int>(random() % 100)
            << ", 0, 1, 7, 1, 1, 1, 1, 1, 1, 0, 0, 0, " << 1000 + step << ", 0, 3;";
        time += 2;
      }
    }
    made.run(sql.str() + "COMMIT");
    const Result<EventList> events = load(made.bytes());
    ASSERT_TRUE(events) << events.error().message;
    ASSERT_EQ(our_answer(*events), made.ask(kPyTorchsAnswer));
  }
}

TEST(LoadNvprof, NamesWhatIsMissing) {
  const auto message = [](const std::string& bytes) {
    const Result<EventList> events = load(bytes);
    return events ? "loaded" : events.error().message;
  };
  EXPECT_THAT(message("hello"), HasSubstr("is not an nvprof database"));
  MadeDatabase made;
  made.run("CREATE TABLE StringIds (id INTEGER, value TEXT); CREATE TABLE NVTX_EVENTS (start)");
  EXPECT_THAT(message(made.bytes()), HasSubstr("is not an nvprof database"));
  MadeDatabase without;
  without.run(testing::kNvprofTables);
  without.run("DROP TABLE CUPTI_ACTIVITY_KIND_MARKER");
  EXPECT_THAT(message(without.bytes()), HasSubstr("has no table CUPTI_ACTIVITY_KIND_MARKER"));
}

}  // namespace
}  // namespace sonde
