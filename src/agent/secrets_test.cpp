// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/secrets.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sonde {
namespace {

using Words = std::vector<std::string>;

std::string shown(const std::string& word) {
  return without_secrets({"program", word})[1];
}

TEST(Secrets, AreMaskedBehindAnOptionThatNamesThem) {
  for (const char* const option :
       {"--password", "--hf-token", "-token", "--apiKey", "--aws_secret_access_key", "--pwd",
        "--pass", "--wandb-key", "--session-cookie"})
    EXPECT_EQ(without_secrets({"p", option, "X y", "rest"}), (Words{"p", option, "***", "rest"}));
  EXPECT_EQ(without_secrets({"p", "--password", "--verbose"}),
            (Words{"p", "--password", "--verbose"}));
}

TEST(Secrets, AreMaskedInPairs) {
  const std::pair<const char*, const char*> cases[] = {
      {"--token=abc", "--token=***"},
      {"api_key=abc", "api_key=***"},
      {"PGPASSWORD=a&b", "PGPASSWORD=***"},
      {"DB_PASSWORD=a&b", "DB_PASSWORD=***"},
      {"DB_PASS=abc", "DB_PASS=***"},
      {"https://h/?user=a&token=b&x=1", "https://h/?user=a&token=***&x=1"},
      {R"({"password":"x","n":1})", R"({"password":***,"n":1})"},
      {"https://me:word@host/path", "https://me:***@host/path"},
      {R"({"password": "x y", "n": 1})", R"({"password": *** "n": 1})"},
      {"--password=x y", "--password=***"},
      {"https://h/?X-Amz-Signature=fe5f80f7&x=1", "https://h/?X-Amz-Signature=***&x=1"},
      {"https://h/?sv=2&sig=abc", "https://h/?sv=2&sig=***"},
      {"--remote=postgres://me:w@rd@host/db", "--remote=postgres://me:***@host/db"},
  };
  for (const auto& [given, expected] : cases) EXPECT_EQ(shown(given), expected);
}

TEST(Secrets, AreMaskedInScriptsAndHeaders) {
  EXPECT_EQ(shown("curl -H 'Authorization: Bearer abc' --password x; ls"),
            "curl -H 'Authorization: Bearer *** --password *** ls");
  EXPECT_EQ(shown("TOKEN=a python3 train.py"), "TOKEN=*** python3 train.py");
  EXPECT_EQ(shown("PASSWORD='a b' python3 train.py --lr 1"),
            "PASSWORD=*** python3 train.py --lr 1");
  EXPECT_EQ(shown("run --password \"a \\\" b\" --lr 1"), "run --password *** --lr 1");
  EXPECT_EQ(shown("ssh host 'run --token abc'"), "ssh host 'run --token ***");
  EXPECT_EQ(shown("don't --token=a tell 'em"), "don't --token=*** tell 'em");
}

TEST(Secrets, AreMaskedBehindTheNameOfAnAccount) {
  EXPECT_EQ(without_secrets({"curl", "-u", "me:word", "x:y"}),
            (Words{"curl", "-u", "me:***", "x:y"}));
  EXPECT_EQ(shown("curl --user me:word http://x"), "curl --user me:*** http://x");
  EXPECT_EQ(without_secrets({"docker", "-u", "1000:1000"}), (Words{"docker", "-u", "1000:1000"}));
  EXPECT_EQ(without_secrets({"python3", "-u", "train.py"}), (Words{"python3", "-u", "train.py"}));
}

TEST(Secrets, AreMaskedByTheirForm) {
  for (const char* const secret :
       {"AKIAIOSFODNN7EXAMPLE", "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "hf_abcdefghijKLMNopqrstuvwxyzABCDEFGH", "ya29.a0AfH6SMBx1234567890abcdefg",
        "sk-proj-1234567890abcdefghij", "nvapi-abcdefghijklmnopqrstuvwxyz123456",
        "r8_abcdefghijklmnopqrstuvwxyz123456", "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
        "pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAw",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}) {
    EXPECT_EQ(shown(secret), "***");
    EXPECT_EQ(shown(std::string("--x=") + secret), "--x=***");
  }
}

TEST(Secrets, LeaveOrdinaryArgumentsAlone) {
  for (const char* const plain :
       {"train.py",
        "--tokenizer=gpt2",
        "--max-tokens=512",
        "--eos-token=</s>",
        "--key=value",
        "--model=resnet50_imagenet_pretrained_version_2_2023",
        "sk-learn-classifier-of-models",
        "/cache/models--x/snapshots/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b/config.json",
        "https://example.org:8080/a@b",
        "--lr=1e-4",
        "a=b",
        "--bypass=x",
        "--forward-pass=2",
        "--key=x",
        "--signature=serving_default",
        "PWD=/home",
        "",
        "-",
        "--",
        "hf_model_of_my_own_making"})
    EXPECT_EQ(shown(plain), plain);
  EXPECT_EQ(without_secrets({"p", "--tokenizer", "x"}), (Words{"p", "--tokenizer", "x"}));
  EXPECT_TRUE(without_secrets({}).empty());
}

}  // namespace
}  // namespace sonde
