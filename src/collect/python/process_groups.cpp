// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Only Python knows which ranks are in a process group. Its main thread is asked between two of its
// instructions, where it has the interpreter's lock: a source must not wait for that.

#include "sonde/source/process_groups.h"

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/clock.h"
#include "sonde/source/device.h"
#include "sonde/source/op.h"

namespace sonde {
namespace {

// What torch.profiler writes too. Versions before 2.2 have no list of configurations.
constexpr const char* kProgram = R"(
import json, sys
answer = ""
distributed = sys.modules.get("torch.distributed.distributed_c10d")
if distributed is not None and distributed.is_initialized():
    if hasattr(distributed, "_get_all_pg_configs"):
        configs = distributed._get_all_pg_configs()
    else:
        world = getattr(distributed, "_world", None)
        of = lambda name: getattr(world, name) if world is not None else getattr(distributed, "_" + name)
        configs = [{"pg_name": str(of("pg_names").get(group, "")), "pg_desc": "", "backend_config": str(backend[0]),
                    "pg_size": len(of("pg_group_ranks")[group]), "ranks": sorted(of("pg_group_ranks")[group])}
                   for group, backend in of("pg_map").items()]
    answer = json.dumps({"backend": distributed.get_backend(), "rank": distributed.get_rank(),
                         "world_size": distributed.get_world_size(), "pg_count": len(configs),
                         "pg_config": configs})
)";

// The functions of Python's stable interface that this needs.
struct Python {
  int (*add_pending_call)(int (*)(void*), void*) = nullptr;
  void* (*compile)(const char*, const char*, int) = nullptr;
  void* (*run)(void*, void*, void*) = nullptr;
  void* (*new_dict)() = nullptr;
  void* (*builtins)() = nullptr;
  int (*set_item)(void*, const char*, void*) = nullptr;
  void* (*item)(void*, const char*) = nullptr;
  const char* (*text)(void*, std::ptrdiff_t*) = nullptr;
  void (*release)(void*) = nullptr;
  void (*clear_error)() = nullptr;
  bool has_all = false;

  Python() {
    const auto find = [](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          ::dlsym(RTLD_DEFAULT, name));
      return function != nullptr;
    };
    has_all = find(add_pending_call, "Py_AddPendingCall") && find(compile, "Py_CompileString") &&
              find(run, "PyEval_EvalCode") && find(new_dict, "PyDict_New") &&
              find(builtins, "PyEval_GetBuiltins") && find(set_item, "PyDict_SetItemString") &&
              find(item, "PyDict_GetItemString") && find(text, "PyUnicode_AsUTF8AndSize") &&
              find(release, "Py_DecRef") && find(clear_error, "PyErr_Clear");
  }
  static const Python& get() {
    static const auto* const python = new Python;  // operators run while statics are destroyed
    return *python;
  }
};

constexpr int kFileInput = 257;  // Py_file_input

// Groups are made at the beginning. Later, new ones are rare, and so is asking.
constexpr std::uint32_t kFreeQuestions = 64;
constexpr std::int64_t kBetweenQuestionsNs = 1'000'000'000;

std::atomic<bool> is_asked{false};
std::atomic<std::uint32_t> questions{0};
std::atomic<std::int64_t> last_question_ns{0};

bool asks_too_often() {
  const std::int64_t now_ns = monotonic_ns();
  if (questions.fetch_add(1, std::memory_order_relaxed) >= kFreeQuestions &&
      now_ns - last_question_ns.load(std::memory_order_relaxed) < kBetweenQuestionsNs)
    return true;
  last_question_ns.store(now_ns, std::memory_order_relaxed);
  return false;
}

void record_groups(std::string_view json) {
  constexpr std::string_view kKey = "distributedInfo";
  sonde_metadata_is(sonde_name(kKey.data(), kKey.size()), sonde_name(json.data(), json.size()));
}

// With the interpreter's lock, on its main thread.
int list_groups(void* /*nothing*/) {
  is_asked.store(false);
  const Python& python = Python::get();
  void* const code = python.compile(kProgram, "<sonde>", kFileInput);
  void* const names = python.new_dict();
  void* result = nullptr;
  if (code != nullptr && names != nullptr &&
      python.set_item(names, "__builtins__", python.builtins()) == 0)
    result = python.run(code, names, names);
  if (result != nullptr) {
    std::ptrdiff_t bytes = 0;
    void* const answer = python.item(names, "answer");
    const char* const text = answer != nullptr ? python.text(answer, &bytes) : nullptr;
    if (text != nullptr && bytes > 0) record_groups({text, static_cast<std::size_t>(bytes)});
  }
  python.clear_error();
  for (void* const object : {result, names, code})
    if (object != nullptr) python.release(object);
  return 0;
}

}  // namespace
}  // namespace sonde

extern "C" void sonde_process_groups_used(void) {
  if (sonde::is_asked.load(std::memory_order_relaxed) || sonde::asks_too_often() ||
      sonde::is_asked.exchange(true))
    return;
  const sonde::Python& python = sonde::Python::get();
  // If too many calls are pending, the next use of a group asks again.
  if (python.has_all && python.add_pending_call(sonde::list_groups, nullptr) != 0)
    sonde::is_asked.store(false);
}
