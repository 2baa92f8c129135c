// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which torches there are (the system's for C++, and the one that python3 imports), and whether
// there are adapters that fit them.

#include "base/format.h"
#include "cli/run/run.h"
#include "cli/setup/doctor.h"
#include "cli/setup/torch_adapters.h"
#include "cli/setup/torch_install.h"

namespace sonde::cli {
namespace {

std::vector<Check> check_adapters(const std::vector<std::string>& adapters) {
  std::vector<Check> checks;
  checks.reserve(adapters.size() + 1);
  for (const std::string& path : adapters) {
    checks.push_back({"sonde.torch", CheckState::Ok,
                      format_text("{}, built for {}", path, adapter_is_for(path)), ""});
  }
  if (checks.empty()) {
    checks.push_back({"sonde.torch", CheckState::Missing, "no adapter",
                      "without an adapter, `sonde run` records scopes but no operators"});
  }
  return checks;
}

Check check_install(std::string id, const TorchInstall& torch, const std::string& advice,
                    const std::vector<std::string>& adapters) {
  Check check{std::move(id), CheckState::Limited, "", ""};
  const std::string& version = torch.python_version.empty() ? torch.version : torch.python_version;
  check.found =
      format_text("{}{}, C++11 ABI {}{}", version.empty() ? "" : version + ", ", torch.library,
                  torch.cxx11_abi ? 1 : 0, torch.cuda.empty() ? "" : ", CUDA " + torch.cuda);
  for (const std::string& adapter : adapters) {
    if (!adapter_fits(adapter, torch)) continue;
    check.state = CheckState::Ok;
    check.found += ", recorded with " + adapter;
    return check;
  }
  check.found += ", no matching adapter";
  check.advice = torch.include.empty()
                     ? "building one needs its headers; for Debian's torch, install libtorch-dev"
                     : "`" + advice + "`";
  return check;
}

Check check_system_torch(const std::vector<std::string>& adapters) {
  const auto torch = torch_of_system();
  if (torch) return check_install("torch.system", *torch, build_advice(*torch), adapters);
  return {"torch.system", CheckState::Missing, torch.error().message,
          "only needed for C++ programs that use the system's torch: install libtorch-dev"};
}

Check check_python_torch(const std::vector<std::string>& adapters) {
  const auto torch = torch_of_python("python3");
  if (torch)
    return check_install("torch.python", *torch, "sonde torch build --python python3", adapters);
  return {"torch.python", CheckState::Missing, torch.error().message,
          "only needed for Python programs: activate their environment and try again"};
}

}  // namespace

std::vector<Check> check_torch() {
  const auto folder = library_folder();
  const auto adapters = folder ? usable_adapters(*folder) : std::vector<std::string>();
  std::vector<Check> checks = check_adapters(adapters);
  checks.push_back(check_system_torch(adapters));
  checks.push_back(check_python_torch(adapters));
  return checks;
}

}  // namespace sonde::cli
