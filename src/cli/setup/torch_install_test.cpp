// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/setup/torch_install.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/output_file.h"
#include "trace/testing/temp_dir.h"

namespace sonde::cli {
namespace {

constexpr const char* kNewAbi =
    "\x7f_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
constexpr const char* kOldAbi = "\x7f_ZN3c105ErrorC1ENS_14SourceLocationESs";

class TorchInstallTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = dir_.file(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    EXPECT_TRUE(write_file_whole(path, text));
    return path;
  }
  void write_libraries(const std::string& folder, const char* c10 = kNewAbi) {
    write(folder + "/libtorch_cpu.so", "torch");
    write(folder + "/libc10.so", c10);
  }
  void write_headers(const std::string& include, const std::string& major = "2") {
    write(include + "/ATen/record_function.h", "");
    write(include + "/torch/csrc/api/include/torch/version.h",
          "#define TORCH_VERSION_MAJOR " + major +
              "\n#define TORCH_VERSION_MINOR 11\n#define TORCH_VERSION_PATCH 4\n");
  }
  // A fake Python that gives this answer.
  std::string write_python(const std::string& answer) {
    const std::string path = write("python", "#!/bin/sh\ncat <<.\n" + answer + ".\n");
    EXPECT_EQ(::chmod(path.c_str(), 0700), 0);
    return path;
  }

  testing::TempDir dir_;
};

TEST_F(TorchInstallTest, TellsVersionAndAbiWithoutLoadingAnything) {
  write_libraries("lib");
  write_headers("include");
  const auto torch = torch_below({dir_.path()});
  ASSERT_TRUE(torch) << torch.error().message;
  EXPECT_EQ(torch->version, "2.11.4");
  EXPECT_TRUE(torch->cxx11_abi);
  EXPECT_EQ(torch->library, dir_.file("lib/libtorch_cpu.so"));
  EXPECT_EQ(torch->c10_library, dir_.file("lib/libc10.so"));
  EXPECT_EQ(torch->include, dir_.file("include"));
}

TEST_F(TorchInstallTest, KnowsTheOldAbi) {
  write_libraries("lib", kOldAbi);
  const auto torch = torch_below({dir_.path()});
  ASSERT_TRUE(torch) << torch.error().message;
  EXPECT_FALSE(torch->cxx11_abi);
  EXPECT_EQ(torch->include, "") << "there are no headers";
}

TEST_F(TorchInstallTest, DoesNotGuessAnAbi) {
  write_libraries("lib", "nothing of c10");
  EXPECT_FALSE(torch_below({dir_.path()}));
}

TEST_F(TorchInstallTest, IsFoundWhereDebianPutsItsLibraries) {
  write_libraries("lib/x86_64-linux-gnu");
  const auto torch = torch_below({dir_.path()});
  ASSERT_TRUE(torch) << torch.error().message;
  EXPECT_EQ(torch->library, dir_.file("lib/x86_64-linux-gnu/libtorch_cpu.so"));
}

TEST_F(TorchInstallTest, OfAPythonIsAskedForByItsFolders) {
  write_libraries("base/lib");
  write_headers("packages/torch/include");
  write("packages/torch/version.py",
        "__version__ = '2.11.4+cu130'\ndebug = False\ncuda: Optional[str] = '13.0'\n");
  const std::string folders =
      dir_.file("packages/torch") + "\n" + dir_.file("venv") + "\n" + dir_.file("base") + "\n";
  const auto torch = torch_of_python(write_python("hello from sitecustomize\n" + folders));
  ASSERT_TRUE(torch) << torch.error().message;
  EXPECT_EQ(torch->library, dir_.file("base/lib/libtorch_cpu.so"));
  EXPECT_EQ(torch->include, dir_.file("packages/torch/include"));
  EXPECT_EQ(torch->python_version, "2.11.4+cu130");
  EXPECT_EQ(torch->cuda, "13.0");
}

TEST_F(TorchInstallTest, NeverGetsTheHeadersOfAnotherTorch) {
  write_libraries("packages/torch/lib");
  write_libraries("base/lib");
  write_headers("base/include", "1");
  const auto torch = torch_below({dir_.file("packages/torch"), dir_.file("base")});
  ASSERT_TRUE(torch) << torch.error().message;
  EXPECT_EQ(torch->include, "");
}

TEST_F(TorchInstallTest, OfAPythonWithoutTorchIsMissing) {
  const std::string python = write_python("");
  EXPECT_EQ(torch_of_python(python).error().message, python + " has no torch");
  EXPECT_EQ(torch_of_python(dir_.file("missing")).error().code, ErrorCode::NotFound);
}

TEST_F(TorchInstallTest, IsBuiltForWithThePythonThatItBelongsTo) {
  const std::string library =
      dir_.file("venv/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so");
  const std::string python = dir_.file("venv/bin/python3");
  EXPECT_EQ(build_advice(library, python), "sonde torch build --python " + python);
}

TEST_F(TorchInstallTest, IsBuiltForByItsPrefixInOtherPrograms) {
  write_libraries("my torch/lib");
  const std::string library = dir_.file("my torch/lib/libtorch_cpu.so");
  EXPECT_EQ(build_advice(library, "/usr/bin/train"), "") << "there are no headers";
  write_headers("my torch/include");
  const std::string command = "sonde torch build --prefix '" + dir_.file("my torch") + "'";
  EXPECT_EQ(build_advice(library, "/usr/bin/train"), command);
  EXPECT_EQ(build_advice(library, "/usr/bin/python3"), command) << "not a package of that Python";
}

}  // namespace
}  // namespace sonde::cli
