// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/setup/torch_adapters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "agent/adapter_name.h"
#include "agent/run_environment.h"
#include "base/output_file.h"
#include "cli/setup/torch_sources.h"
#include "trace/testing/temp_dir.h"

namespace sonde::cli {
namespace {

using ::testing::ElementsAre;

// An installation of Sonde and a cache in one folder.
class TorchAdapters : public ::testing::Test {
 protected:
  TorchAdapters() {
    ::setenv("XDG_CACHE_HOME", dir_.path().c_str(), 1);
    ::unsetenv(kRunAdapters);
    write("lib/libsonde.so", "");
    write("share/sonde/adapter/src/collect/torch/source.cpp", "source");
  }
  ~TorchAdapters() override { ::unsetenv("XDG_CACHE_HOME"); }
  TorchAdapters(const TorchAdapters&) = delete;
  TorchAdapters& operator=(const TorchAdapters&) = delete;

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = dir_.file(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    EXPECT_TRUE(write_file_whole(path, text));
    return path;
  }
  std::string write_cached(const std::string& version, const std::string& library_key) {
    const auto sources = adapter_sources(library_folder());
    EXPECT_TRUE(sources) << sources.error().message;
    const AdapterName name = {version, true, library_key, sources ? sources->key : ""};
    return write("sonde/torch/" + to_file_name(name), "");
  }
  std::string library_folder() const { return dir_.file("lib"); }

  testing::TempDir dir_;
};

TEST_F(TorchAdapters, AreTheNamedTheInstalledAndTheCachedInThisOrder) {
  const std::string cached = write_cached("2.11.0", "a");
  const std::string installed = write("lib/libsonde_torch.so", "");
  EXPECT_THAT(usable_adapters(library_folder()), ElementsAre(installed, cached));
  ::setenv(kRunAdapters, "/x/first.so:/x/second.so", 1);
  EXPECT_THAT(usable_adapters(library_folder()),
              ElementsAre("/x/first.so", "/x/second.so", installed, cached));
  ::unsetenv(kRunAdapters);
}

TEST_F(TorchAdapters, OfOtherSourcesAreNotUsed) {
  write_cached("2.11.0", "a");
  EXPECT_THAT(usable_adapters(library_folder()), ::testing::SizeIs(1));
  write("share/sonde/adapter/src/collect/torch/source.cpp", "changed");
  EXPECT_THAT(usable_adapters(library_folder()), ElementsAre());
}

TEST_F(TorchAdapters, FitTheTorchThatTheyWereBuiltFor) {
  TorchInstall torch;
  torch.library = write("torch/lib/libtorch_cpu.so", "torch");
  const std::string key = torch_library_key(torch.library).value_or("");
  EXPECT_TRUE(adapter_fits(write_cached("2.11.0", key), torch));
  EXPECT_FALSE(adapter_fits(write_cached("2.11.0", "other"), torch));
  EXPECT_FALSE(adapter_fits(write("lib/libsonde_torch.so", "no library"), torch));
  EXPECT_EQ(adapter_is_for(write_cached("2.11.0", key)), "torch 2.11.0, C++11 ABI 1");
}

TEST_F(TorchAdapters, AreCachedBelowTheHomeFolderWhereNothingElseIsSaid) {
  EXPECT_EQ(adapter_cache().value_or(""), dir_.file("sonde/torch"));
  ::setenv("XDG_CACHE_HOME", "relative", 1);  // counts as not set
  EXPECT_THAT(adapter_cache().value_or(""), ::testing::EndsWith("/.cache/sonde/torch"));
}

}  // namespace
}  // namespace sonde::cli
