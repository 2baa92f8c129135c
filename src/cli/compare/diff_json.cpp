// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A comparison for programs: JSON, and JUnit's XML for build servers.

#include <cmath>

#include "base/format.h"
#include "cli/compare/diff.h"
#include "cli/print/json_writer.h"

namespace sonde::cli {
namespace {

// A number, or null where it has none.
void write_number(JsonWriter& json, const char* key, double value) {
  json.key(key);
  if (!std::isfinite(value)) return json.null();
  char digits[kMaxJsonNumber];
  const char* const end = put_json_number(digits, value);
  json.embed({digits, static_cast<std::size_t>(end - digits)});
}

void write_time(JsonWriter& json, const char* key, const TimeChange& time) {
  json.key(key).begin_object();
  write_number(json, "base_ns", time.base_ns);
  write_number(json, "now_ns", time.now_ns);
  write_number(json, "change", time.change);
  json.key("tested").value(time.is_tested);
  if (time.is_tested) {
    write_number(json, "low", time.low);
    write_number(json, "high", time.high);
    write_number(json, "p", time.p);
    if (time.p_ranks >= 0) write_number(json, "p_ranks", time.p_ranks);
    write_number(json, "detectable", time.detectable);
    json.key("changed").value(time.is_finding);
    json.key("small").value(time.is_small);
  }
  json.end_object();
}

const char* status_text(ItemStatus status) {
  switch (status) {
    case ItemStatus::Both:
      return "both";
    case ItemStatus::New:
      return "new";
    case ItemStatus::Gone:
      return "gone";
    case ItemStatus::Replaced:
      return "replaced";
  }
  return "";
}

void write_item(JsonWriter& json, const ItemChange& item) {
  json.begin_object();
  json.key("name").value(item.item.name);
  if (item.item.is_device) json.key("operator").value(item.item.owner);
  json.key("status").value(status_text(item.status));
  if (!item.item.shapes.empty()) json.key("shapes").value(item.item.shapes);
  if (!item.item.module.empty()) json.key("module").value(item.item.module);
  if (item.status == ItemStatus::Replaced) json.key("replaces").value(item.replaces);
  if (!item.item.place.empty()) json.key("place").value(item.item.place);
  write_number(json, "base_mean_ns", item.base_mean_ns);
  write_number(json, "delta_ns", item.delta_ns());
  write_number(json, "base_count", item.base_count);
  write_number(json, "now_count", item.now_count);
  write_time(json, "time", item.time);
  json.end_object();
}

void write_json_items(JsonWriter& json, const char* key, const std::vector<ItemChange>& items) {
  json.key(key).begin_array();
  for (const ItemChange& item : items) write_item(json, item);
  json.end_array();
}

std::string xml(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else if (c == '"') {
      safe += "&quot;";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

void write_diff_json(const Comparison& result, Output& out) {
  JsonWriter json(out);
  json.begin_object();
  json.key("verdict").value(to_string(result.verdict));
  json.key("warnings").begin_array();
  for (const std::string& warning : result.warnings) json.value(warning);
  json.end_array();
  json.key("base_runs").value(result.base_runs);
  json.key("now_runs").value(result.now_runs);
  json.key("steps").value(result.has_steps ? result.steps : 0);
  json.key("gates").begin_array();
  for (const GateResult& gate : result.gates) {
    json.begin_object();
    json.key("gate").value(gate.gate.text);
    json.key("verdict").value(to_string(gate.verdict));
    json.key("why").value(gate.why);
    json.end_object();
  }
  json.end_array();
  json.key("exact").begin_array();
  for (const ExactChange& change : result.exact) {
    json.begin_object();
    json.key("name").value(change.name);
    json.key("base_low").value(change.base_low);
    json.key("base_high").value(change.base_high);
    json.key("now_low").value(change.now_low);
    json.key("now_high").value(change.now_high);
    json.key("changed").value(change.has_changed());
    json.end_object();
  }
  json.end_array();
  json.key("one_sided").begin_array();
  for (const std::string& name : result.one_sided) json.value(name);
  json.end_array();
  write_time(json, "step", result.step);
  write_number(json, "step_delta_ns", result.step_delta_ns);
  write_json_items(json, "host", result.host);
  if (result.has_device) {
    write_time(json, "device", result.device);
    write_number(json, "device_delta_ns", result.device_delta_ns);
    write_json_items(json, "device_work", result.device_work);
  }
  json.end_object();
  out.line("");
}

void write_diff_junit(const Comparison& result, Output& out) {
  out.for_programs();
  std::size_t failed = 0;
  std::size_t undecided = 0;
  for (const GateResult& gate : result.gates) {
    failed += gate.verdict == Verdict::Failed ? 1 : 0;
    undecided += gate.verdict == Verdict::Undecided ? 1 : 0;
  }
  out.line("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
  out.line(
      format_text("<testsuites><testsuite name=\"sonde diff\" tests=\"{}\" failures=\"{}\" "
                  "skipped=\"{}\">",
                  result.gates.size(), failed, undecided));
  for (const GateResult& gate : result.gates) {
    out.write(format_text("  <testcase classname=\"gates\" name=\"{}\">", xml(gate.gate.text)));
    if (gate.verdict == Verdict::Failed) out.write("<failure message=\"" + xml(gate.why) + "\"/>");
    if (gate.verdict == Verdict::Undecided)
      out.write("<skipped message=\"" + xml(gate.why) + "\"/>");
    if (gate.verdict == Verdict::Passed)
      out.write("<system-out>" + xml(gate.why) + "</system-out>");
    out.line("</testcase>");
  }
  out.line("</testsuite></testsuites>");
}

}  // namespace sonde::cli
