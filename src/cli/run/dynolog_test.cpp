// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/dynolog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "cli/run/trigger.h"

namespace sonde::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;

template <typename... Numbers>
std::string packed(Numbers... numbers) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof(numbers)), ...);
  return bytes;
}

std::string datagram(std::string type, const std::string& body) {
  type.resize(32);
  return packed(std::uint64_t{body.size()}) + type + body;
}

std::optional<DaemonRequest> request_in(std::string_view bytes) {
  const auto message = parse_daemon_datagram(bytes);
  return message ? parse_daemon_request(*message) : std::nullopt;
}

std::string answer_to(const DaemonRequest& request, std::string_view configuration) {
  return daemon_datagram(daemon_answer(request, configuration));
}

TEST(Dynolog, RequestsAreParsed) {
  const auto asked =
      request_in(datagram("req", packed(std::int32_t{3}, std::int32_t{2}, std::int64_t{42},
                                        std::int32_t{10}, std::int32_t{9})));
  ASSERT_TRUE(asked);
  EXPECT_FALSE(asked->is_announcement);
  EXPECT_EQ(asked->job, 42);
  EXPECT_THAT(asked->pids, ElementsAre(10, 9));
  const auto announced =
      request_in(datagram("ctxt", packed(std::int32_t{0}, std::int32_t{10}, std::int64_t{42})));
  ASSERT_TRUE(announced);
  EXPECT_TRUE(announced->is_announcement);
}

TEST(Dynolog, NonsenseIsRefused) {
  const std::string body =
      packed(std::int32_t{3}, std::int32_t{1}, std::int64_t{0}, std::int32_t{10});
  const std::string whole = datagram("req", body);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(request_in(std::string_view(whole).substr(0, size)));
  EXPECT_FALSE(request_in(whole + "x"));
  EXPECT_FALSE(request_in(datagram("other", body)));
  for (const std::int32_t count : {-1, 0, 2, 1 << 30})
    EXPECT_FALSE(request_in(
        datagram("req", packed(std::int32_t{3}, count, std::int64_t{0}, std::int32_t{10}))));
}

TEST(Dynolog, AnswersHaveTheFormOfRequests) {
  DaemonRequest request;
  request.pids = {1};
  EXPECT_EQ(answer_to(request, "A=1\n"), datagram("req", "A=1\n"));
  EXPECT_EQ(answer_to(request, ""), datagram("req", ""));
  request.is_announcement = true;
  EXPECT_EQ(answer_to(request, "A=1\n"), datagram("ctxt", packed(std::int32_t{1})));
}

TEST(Dynolog, SaysWhichProcessesItTriggered) {
  EXPECT_THAT(triggered_by_daemon(R"({"processesMatched": [7, 8, 9], "activityProfilersBusy": 0,
                                      "activityProfilersTriggered": [7, 8]})"),
              Optional(ElementsAre(7, 8)));
  EXPECT_THAT(triggered_by_daemon(R"({"activityProfilersTriggered":[]})"), Optional(IsEmpty()));
  for (const char* const other : {"", "{}", "[7]", R"({"activityProfilersTriggered": 7})",
                                  R"({"activityProfilersTriggered": [99999999999]})",
                                  R"({"activityProfilersTriggered": [7])"})
    EXPECT_EQ(triggered_by_daemon(other), std::nullopt) << other;
}

TEST(Trigger, SaysWhatToRecordAndWhere) {
  TriggerCommand command;
  command.duration = "2s";
  command.shapes = true;
  const std::string text = trigger_configuration(command, "/x/trace.json");
  EXPECT_THAT(text, HasSubstr("ACTIVITIES_LOG_FILE=/x/trace.json\n"));
  EXPECT_THAT(text, HasSubstr("ACTIVITIES_DURATION_MSECS=2000\n"));
  EXPECT_THAT(text, HasSubstr("PROFILE_REPORT_INPUT_SHAPES=true\n"));
  EXPECT_THAT(text, Not(HasSubstr("PROFILE_WITH_STACK")));
  command.duration = "";
  command.steps = 3;
  EXPECT_THAT(trigger_configuration(command, "/x/trace.json"),
              HasSubstr("ACTIVITIES_ITERATIONS=3\n"));
}

}  // namespace
}  // namespace sonde::cli
