// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/adapter_name.h"

#include <gtest/gtest.h>

#include "base/output_file.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

TEST(AdapterName, IsReadFromThePathItWasWrittenTo) {
  const AdapterName written = {"2.11.0-rc1", false, key_of("torch"), key_of("sonde")};
  const auto read = adapter_name_of("/home/a-b/.cache/sonde/torch/" + to_file_name(written));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->torch_version, "2.11.0-rc1");
  EXPECT_FALSE(read->cxx11_abi);
  EXPECT_EQ(read->library_key, key_of("torch"));
  EXPECT_EQ(read->sonde_key, key_of("sonde"));
}

TEST(AdapterName, IsNotSeenInOtherNames) {
  for (const char* const path :
       {"", "/usr/lib/libsonde_torch.so", "libsonde_torch-1-2-3.so", "libsonde_torch-.so",
        "libsonde_torch-1.13.0-abi2-a-b.so", "/a/libsonde_torch-1.13.0-abi1-a-b/libsonde_torch.so"})
    EXPECT_FALSE(adapter_name_of(path)) << path;
}

TEST(TorchLibraryKey, IsTheSameForACopyAndAnotherForAnotherBuild) {
  const testing::TempDir dir;
  const auto key_with = [&](const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_file_whole(dir.file(name), text));
    return torch_library_key(dir.file(name)).value_or("none");
  };
  const std::string headers(4096, 'h');
  const std::string key = key_with("libtorch_cpu.so", headers + "code");
  EXPECT_EQ(key_with("copy.so", headers + "code"), key);
  EXPECT_NE(key_with("longer.so", headers + "code."), key);
  EXPECT_NE(key_with("other.so", "H" + headers.substr(1) + "code"), key);
  EXPECT_FALSE(torch_library_key(dir.file("missing.so")));
}

TEST(KeyOf, DependsOnAllThatCameBefore) {
  EXPECT_NE(key_of("b", key_of("a")), key_of("b", key_of("c")));
  EXPECT_EQ(key_of("").size(), 16u);
}

}  // namespace
}  // namespace sonde
