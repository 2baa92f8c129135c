// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A CUDA runtime that counts its calls. Built once as CUDA 11's and once as CUDA 12's, which has no
// cudaProfilerInitialize.

#include <cstdio>
#include <cstring>

// NOLINTBEGIN(readability-identifier-naming): CUDA's names

extern "C" {

int fake_starts = 0;
int fake_stops = 0;
int fake_status = 0;          // what every call returns
char fake_initialized[1024];  // "flags|output file|mode"

int cudaProfilerStart() {
  ++fake_starts;
  return fake_status;
}
int cudaProfilerStop() {
  ++fake_stops;
  return fake_status;
}
int cudaRuntimeGetVersion(int* version) {
  *version = FAKE_VERSION;
  return 0;
}
const char* cudaGetErrorString(int code) {
  return code == 35 ? "CUDA driver version is insufficient for CUDA runtime version" : "unknown";
}

#if FAKE_VERSION < 12000
int cudaProfilerInitialize(const char* config_file, const char* output_file, int mode) {
  std::FILE* const file = std::fopen(config_file, "r");
  if (file == nullptr) return 1;
  const std::size_t read = std::fread(fake_initialized, 1, 512, file);
  std::fclose(file);
  std::snprintf(fake_initialized + read, 512, "|%s|%d", output_file, mode);
  return fake_status;
}
#endif

}  // extern "C"

// NOLINTEND(readability-identifier-naming)
