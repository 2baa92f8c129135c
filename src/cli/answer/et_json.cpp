// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "cli/answer/et.h"
#include "cli/print/json_writer.h"

namespace sonde::cli {
namespace {

void write_texts(const char* key, const std::vector<std::string>& texts, JsonWriter& json) {
  json.key(key).begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

void write_counts(const EtReport& report, JsonWriter& json) {
  const ExecutionTraceSummary& summary = report.summary;
  json.key("nodes").value(report.et.nodes.size());
  json.key("operators").value(summary.operators);
  json.key("annotations").value(summary.annotations);
  json.key("threads").value(summary.threads);
  json.key("process_groups").value(summary.process_groups);
  json.key("deepest").value(summary.deepest);
  json.key("inputs").value(summary.inputs);
  json.key("outputs").value(summary.outputs);
  json.key("tensors").value(summary.tensors);
  json.key("tensors_from_outside").value(summary.tensors_from_outside);
  json.key("storages").value(summary.storages);
  if (report.join) json.key("joined").value(report.join->joined);
}

void write_checks(const EtReport& report, JsonWriter& json) {
  json.key("checks").begin_array();
  for (const EtCheck& check : report.checks) {
    json.begin_object();
    json.key("claim").value(check.claim);
    json.key("holds").value(check.wrong.empty());
    write_texts("wrong", check.wrong, json);
    json.end_object();
  }
  json.end_array();
}

void write_names(const EtReport& report, std::size_t row_limit, JsonWriter& json) {
  const auto& names = report.summary.names;
  json.key("names").begin_array();
  for (std::size_t i = 0; i < std::min(row_limit, names.size()); ++i) {
    json.begin_object();
    json.key("name").value(names[i].name);
    json.key("nodes").value(names[i].count);
    json.key("inputs").value(names[i].inputs);
    json.key("outputs").value(names[i].outputs);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void write_et_json(const EtReport& report, std::size_t row_limit, Output& out) {
  JsonWriter json(out);
  json.begin_object();
  json.key("file").value(report.file);
  json.key("made_from_trace").value(report.is_made);
  json.key("schema").value(report.et.schema);
  json.key("pid").value(report.et.pid);
  json.key("time").value(report.et.time);
  write_counts(report, json);
  write_checks(report, json);
  write_texts("problems", report.et.problems, json);
  write_names(report, row_limit, json);
  json.end_object();
  out.write("\n");
}

}  // namespace sonde::cli
