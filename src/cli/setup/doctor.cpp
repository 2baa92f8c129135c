// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/setup/doctor.h"

#include <algorithm>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/print/json_writer.h"

namespace sonde::cli {
namespace {

const char* state_name(CheckState state) {
  switch (state) {
    case CheckState::Ok:
      return "ok";
    case CheckState::Limited:
      return "limited";
    case CheckState::Missing:
      return "missing";
  }
  return "missing";
}

void write_text(const std::vector<Check>& checks, Output& out) {
  for (const Check& check : checks) {
    out.line(format_text("{:<8} {:<18} {}", state_name(check.state), check.id, check.found));
    if (!check.advice.empty()) out.line(format_text("{:<27} -> {}", "", check.advice));
  }
}

void write_json(const std::vector<Check>& checks, Output& out) {
  JsonWriter json(out);
  json.begin_array();
  for (const Check& check : checks) {
    json.begin_object();
    json.key("id").value(check.id);
    json.key("state").value(state_name(check.state));
    json.key("found").value(check.found);
    json.key("advice").value(check.advice);
    json.end_object();
  }
  json.end_array();
  out.line("");
}

}  // namespace

Result<void> run_doctor(const DoctorCommand& command, Output& out) {
  std::vector<Check> checks;
  for (auto* const look : {check_sonde, check_recording, check_torch, check_cuda}) {
    std::vector<Check> found = look();
    std::move(found.begin(), found.end(), std::back_inserter(checks));
  }
  if (command.format == Format::Json) {
    write_json(checks, out);
  } else {
    write_text(checks, out);
  }
  return {};
}

}  // namespace sonde::cli
