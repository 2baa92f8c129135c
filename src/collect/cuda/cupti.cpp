// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/cuda/cupti.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace sonde::cuda {
namespace {

constexpr const char* kSonames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                                    "libcupti.so"};

std::vector<std::string> folders() {
  std::vector<std::string> found;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* home = std::getenv(variable)) found.push_back(home);
  }
  found.emplace_back("/usr/local/cuda");
  std::vector<std::string> all;
  for (const std::string& home : found) {
    all.push_back(home + "/extras/CUPTI/lib64/");
    all.push_back(home + "/lib64/");
    all.push_back(home + "/lib/");
  }
  return all;
}

void* open_library() {
  for (const char* name : kSonames) {
    if (void* library = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return library;
  }
  for (const char* name : kSonames) {
    if (void* library = ::dlopen(name, RTLD_LAZY)) return library;
  }
  for (const std::string& folder : folders()) {
    for (const char* name : kSonames) {
      if (void* library = ::dlopen((folder + name).c_str(), RTLD_LAZY)) return library;
    }
  }
  return nullptr;
}

class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}
  template <typename Function>
  void find(Function& function, const char* name, bool optional = false) {
    void* const found = ::dlsym(library_, name);
    function = reinterpret_cast<Function>(found);
    if (found == nullptr && !optional && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

}  // namespace

std::string Cupti::text_of(int result) const {
  const char* text = nullptr;
  if (get_result_string == nullptr || get_result_string(result, &text) != 0 || text == nullptr)
    return "error " + std::to_string(result);
  return text;
}

Result<Cupti> open_cupti() {
  void* const library = open_library();
  if (library == nullptr) {
    return Failure(ErrorCode::NotFound,
                   "libcupti not found; it comes with the CUDA toolkit (extras/CUPTI/lib64): set "
                   "CUDA_HOME or LD_LIBRARY_PATH");
  }
  Cupti cupti;
  Symbols symbols(library);
  symbols.find(cupti.get_version, "cuptiGetVersion");
  symbols.find(cupti.get_result_string, "cuptiGetResultString");
  symbols.find(cupti.subscribe, "cuptiSubscribe");
  symbols.find(cupti.unsubscribe, "cuptiUnsubscribe");
  symbols.find(cupti.enable_callback, "cuptiEnableCallback");
  symbols.find(cupti.get_callback_name, "cuptiGetCallbackName");
  symbols.find(cupti.register_callbacks, "cuptiActivityRegisterCallbacks");
  symbols.find(cupti.activity_enable, "cuptiActivityEnable");
  symbols.find(cupti.activity_disable, "cuptiActivityDisable");
  symbols.find(cupti.flush_all, "cuptiActivityFlushAll");
  symbols.find(cupti.get_dropped, "cuptiActivityGetNumDroppedRecords");
  symbols.find(cupti.set_attribute, "cuptiActivitySetAttribute");
  symbols.find(cupti.get_next_record, "cuptiActivityGetNextRecord");
  symbols.find(cupti.get_timestamp, "cuptiGetTimestamp");
  symbols.find(cupti.enable_all_sync_records, "cuptiActivityEnableAllSyncRecords", true);
  symbols.find(cupti.get_graph_node_id, "cuptiGetGraphNodeId", true);
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<void*>(cupti.get_version), &info) != 0 && info.dli_fname != nullptr)
    cupti.path = info.dli_fname;
  if (!symbols.missing().empty()) {
    return Failure(ErrorCode::Unsupported, "libcupti has no " + symbols.missing());
  }
  if (cupti.get_version(&cupti.version) != 0 || cupti.version < kCupti118) {
    return Failure(ErrorCode::Unsupported, cupti.path + ": is older than CUDA 11.8");
  }
  return cupti;
}

std::string cupti_version_text(std::uint32_t version) {
  if (version >= kCupti130) {
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100);
  }
  static constexpr const char* kTexts[] = {"11.8", "12.0", "12.2", "12.3", "12.4", "12.5",
                                           "12.6", "12.7", "12.8", "12.9", "12.9"};
  const std::uint32_t index = version - kCupti118;
  return version >= kCupti118 && index < std::size(kTexts) ? kTexts[index]
                                                           : std::to_string(version);
}

}  // namespace sonde::cuda
