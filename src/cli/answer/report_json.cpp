// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde report` for programs. Keys are stable: add keys, but do not rename them.

#include <algorithm>
#include <string>
#include <string_view>

#include "cli/answer/report.h"
#include "cli/print/json_writer.h"

namespace sonde::cli {
namespace {

class FindingsJson {
 public:
  FindingsJson(const Report& report, std::string_view name, Output& out)
      : report_(report), name_(name), json_(out) {}

  void write() {
    json_.begin_object();
    json_.key("trace").value(name_);
    json_.key("is_whole").value(report_.is_whole());
    ledger();
    json_.key("program_end").begin_object();
    json_.key("signal").value(report_.end.signal);
    json_.key("status").value(report_.end.status);
    json_.key("is_cut_short").value(report_.end.is_cut_short);
    json_.key("dumped_because").value(report_.end.dumped_because);
    json_.end_object();
    json_.key("processor").begin_object();
    json_.key("cores").value(report_.processor.cores);
    json_.key("wall_ns").value(report_.processor.wall_ns);
    json_.key("ran_ns").value(report_.processor.ran_ns);
    json_.key("waited_ns").value(report_.processor.waited_ns);
    json_.end_object();
    json_.key("recording_ns").value(report_.recording_ns);
    json_.key("length_ns").value(report_.trace.last_ns() - report_.trace.first_ns());
    json_.key("measured_ns").value(report_.measured_ns);
    json_.key("profiler_ns").value(report_.profiler_ns);
    json_.key("steady").begin_object();
    json_.key("rule").value(to_string(report_.step_rule));
    if (report_.step_rule == StepRule::Inferred)
      json_.key("inferred_from").value(report_.steps_inferred_from);
    json_.key("steps").value(report_.steady_steps);
    json_.key("warm_up_steps").value(report_.warm_up_steps);
    json_.key("warm_up_ns").value(report_.warm_up_ns);
    json_.key("start_ns").value(report_.start_ns);
    json_.key("start_reason").value(report_.start_reason);
    json_.end_object();
    json_.key("verdict").value(report_.verdict);
    list("findings", report_.findings, [this](const Finding& finding) { one(finding); });
    steps();
    list("devices", report_.devices, [this](const DeviceTime& device) { one(device); });
    names("operators", report_.host.operators);
    names("scopes", report_.host.scopes);
    names("device_work", report_.device_work);
    kernel_limits();
    copies();
    list("memory", report_.memory, [this](const MemoryPeakOwner& peak) {
      json_.key("device").value(to_string(peak.device));
      json_.key("peak_bytes").value(peak.bytes);
      json_.key("owner").value(peak.owner);
      json_.key("owner_bytes").value(peak.owner_bytes);
    });
    json_.key("minor").begin_array();
    for (const std::string& text : report_.minor) json_.value(text);
    json_.end_array();
    json_.key("missing").begin_array();
    for (const std::string& text : report_.missing) json_.value(text);
    json_.end_array();
    json_.end_object();
  }

 private:
  static std::int64_t thousandths(double value) {
    return static_cast<std::int64_t>(std::min(1000 * value, 9e18));
  }
  void kernel_limits() {
    list("kernel_limits", report_.kernel_limits.operators, [this](const OperatorLimit& one) {
      json_.key("operator").value(one.name);
      json_.key("type").value(one.type);
      json_.key("count").value(one.count);
      json_.key("time_ns").value(one.time_ns);
      json_.key("mflop_per_s").value(thousandths(one.operations_by_ns));
      json_.key("mb_per_s").value(thousandths(one.bytes_by_ns));
      json_.key("flop_permille_of_peak").value(thousandths(one.operations_share));
      json_.key("bytes_permille_of_peak").value(thousandths(one.bytes_share));
      json_.key("limit").value(to_string(one.limit));
    });
  }

  // An array of objects.
  template <typename Items, typename Fill>
  void list(std::string_view key, const Items& items, Fill fill) {
    json_.key(key).list(items, fill);
  }

  void ledger() {
    json_.key("ledger").begin_object();
    for (const auto& [kind, total] : report_.ledger) json_.key(to_string(kind)).value(total.count);
    json_.end_object();
  }

  void one(const Finding& finding) {
    json_.key("id").value(finding.id);
    json_.key("title").value(finding.title);
    json_.key("detail").value(finding.detail);
    json_.key("advice").value(finding.advice);
    json_.key("command").value(command_text(finding, name_));
    json_.key("saving_ns").value(finding.saving_ns);
    json_.key("at_most_ns").value(finding.at_most_ns);
    json_.key("count").value(finding.count);
    list("groups", finding.groups, [this](const FindingGroup& group) {
      json_.key("name").value(group.name);
      json_.key("place").value(group.place);
      json_.key("time_ns").value(group.time_ns);
      json_.key("count").value(group.count);
    });
    list("moments", finding.moments, [this](const FindingMoment& moment) {
      json_.key("what").value(moment.what);
      json_.key("start_ns").value(moment.begin_ns - report_.trace.first_ns());
      json_.key("duration_ns").value(moment.end_ns - moment.begin_ns);
      if (moment.track.valid()) json_.key("track").value(moment.track.value());
    });
    list("spans", finding.spans, [this](SpanId span) {
      json_.key("row").value(span.value());
      json_.key("name").value(report_.trace.name(span));
      json_.key("start_ns").value(report_.trace.spans().start_ns[span] - report_.trace.first_ns());
      json_.key("duration_ns").value(report_.trace.spans().duration_ns[span]);
    });
  }

  void steps() {
    const StepTimes& times = report_.steps;
    json_.key("step_times").begin_object();
    json_.key("median_ns").value(times.median_ns);
    json_.key("least_ns").value(times.least_ns);
    json_.key("most_ns").value(times.most_ns);
    json_.key("mean_ns").value(static_cast<std::int64_t>(times.mean_ns));
    json_.key("deviation_ns").value(static_cast<std::int64_t>(times.deviation_ns));
    json_.key("outliers").value(times.outliers);
    json_.end_object();
    list("steps", times.steps, [this](const StepTime& step) {
      json_.key("step").value(step.step);
      json_.key("start_ns").value(step.begin_ns - report_.trace.first_ns());
      json_.key("host_ns").value(step.host_ns());
      json_.key("in_operators_ns").value(step.in_operators_ns);
      json_.key("device_busy_ns").value(step.device_busy_ns);
      json_.key("device_idle_ns").value(step.device_idle_ns);
      json_.key("copies_ns").value(step.copies_ns);
      json_.key("peak_bytes").value(step.peak_bytes);
      json_.key("is_outlier").value(step.is_outlier);
      json_.key("why").value(step.why);
    });
  }

  void one(const DeviceTime& device) {
    json_.key("device").value(device.device);
    json_.key("extent_ns").value(device.extent_ns());
    json_.key("busy_ns").value(device.busy_ns);
    json_.key("idle_ns").value(device.idle_ns);
    json_.key("host_wait_ns").value(device.idle_of(IdleCause::HostWait));
    json_.key("kernel_wait_ns").value(device.idle_of(IdleCause::KernelWait));
    json_.key("other_wait_ns").value(device.idle_of(IdleCause::Other));
    json_.key("host_communicated_ns").value(device.host_wait_of(HostDoing::Communicated));
    json_.key("host_had_waited_ns").value(device.host_wait_of(HostDoing::HadWaited));
    json_.key("host_in_operators_ns").value(device.host_wait_of(HostDoing::InOperators));
    json_.key("host_outside_operators_ns").value(device.host_wait_of(HostDoing::OutsideOperators));
    json_.key("compute_ns").value(device.compute.union_ns);
    json_.key("communication_ns").value(device.communication.union_ns);
    json_.key("communication_hidden_ns").value(device.communication_hidden_ns);
    json_.key("memory_ns").value(device.memory.union_ns);
    json_.key("memory_hidden_ns").value(device.memory_hidden_ns);
    json_.key("kernels").value(device.compute.count + device.communication.count);
    json_.key("copies").value(device.memory.count);
    json_.key("other_work_ns").value(device.other.union_ns);
    json_.key("other_work").value(device.other.count);
  }

  void names(std::string_view key, const std::vector<NameTime>& all) {
    list(key, all, [this](const NameTime& name) {
      json_.key("name").value(name.name);
      json_.key("self_ns").value(name.self_ns);
      json_.key("total_ns").value(name.total_ns);
      json_.key("count").value(name.count);
    });
  }

  void copies() {
    list("copies", report_.copies.totals, [this](const CopyTotal& total) {
      json_.key("kind").value(to_string(total.kind));
      json_.key("source").value(to_string(total.source));
      json_.key("destination").value(to_string(total.destination));
      json_.key("count").value(total.count);
      json_.key("bytes").value(total.bytes);
      json_.key("device_ns").value(total.device_ns);
    });
  }

  const Report& report_;
  const std::string_view name_;
  JsonWriter json_;
};

}  // namespace

void write_report_json(const Report& report, std::string_view name, Output& out) {
  FindingsJson(report, name, out).write();
  out.write("\n");
}

}  // namespace sonde::cli
