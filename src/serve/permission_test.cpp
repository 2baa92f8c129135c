// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "serve/permission.h"

#include <gtest/gtest.h>

namespace sonde::detail {
namespace {

constexpr unsigned short kPort = 4711;

Permission ask(const RequestHead& head) {
  return Gate(kPort, "0123456789abcdef0123456789abcdef").allows(head);
}

RequestHead good() {
  return {"GET", "/api/trace", "127.0.0.1:4711", "", "0123456789abcdef0123456789abcdef"};
}

TEST(Gate, GivesAnswersToWhoHasTheToken) {
  EXPECT_EQ(ask(good()), Permission::Api);
  RequestHead head = good();
  head.host = "localhost:4711";
  head.origin = "http://localhost:4711";
  EXPECT_EQ(ask(head), Permission::Api);
}

TEST(Gate, RefusesAWrongOrMissingToken) {
  for (const char* const token :
       {"", "0", "1123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef0"}) {
    RequestHead head = good();
    head.token = token;
    EXPECT_EQ(ask(head), Permission::Refused) << token;
  }
}

TEST(Gate, RefusesForeignHostsEvenWithTheToken) {
  for (const char* const host : {"", "127.0.0.1", "127.0.0.1:4712", "evil.example:4711",
                                 "127.0.0.1:4711.evil.example", "[::1]:4711"}) {
    RequestHead head = good();
    head.host = host;
    EXPECT_EQ(ask(head), Permission::Refused) << host;
    head.target = "/";
    EXPECT_EQ(ask(head), Permission::Refused) << host;
  }
}

TEST(Gate, RefusesForeignOrigins) {
  for (const char* const origin : {"null", "https://127.0.0.1:4711", "http://evil.example"}) {
    RequestHead head = good();
    head.origin = origin;
    EXPECT_EQ(ask(head), Permission::Refused) << origin;
  }
}

TEST(Gate, GivesTheEmptyPageToAnybodyHere) {
  RequestHead head = good();
  head.token = "";
  head.target = "/";
  EXPECT_EQ(ask(head), Permission::Page);
  head.target = "/viewer.js";
  EXPECT_EQ(ask(head), Permission::Page);
  head.method = "POST";
  EXPECT_EQ(ask(head), Permission::NotFound);
  head.target = "/../etc/passwd";
  EXPECT_EQ(ask(head), Permission::NotFound);
}

TEST(NewToken, IsNeverTheSame) {
  const std::string token = new_token();
  EXPECT_EQ(token.size(), 32u);
  EXPECT_NE(token, new_token());
}

}  // namespace
}  // namespace sonde::detail
