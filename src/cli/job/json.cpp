// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The answer of `sonde job` for programs. Keys are stable: add keys, but do not rename them.

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "cli/job/job.h"
#include "cli/print/json_writer.h"

namespace sonde::cli {
namespace {

// Mean and standard deviation of a sample.
struct Spread {
  double mean = 0;
  double deviation = 0;
  Spread(std::uint64_t count, double sum, double squares) {
    if (count == 0) return;
    const auto n = static_cast<double>(count);
    mean = sum / n;
    if (count > 1) deviation = std::sqrt(std::max(0.0, squares - sum * mean) / (n - 1));
  }
};

class JobJson {
 public:
  JobJson(const JobReport& job, Output& out) : job_(job), json_(out) {}

  void write() {
    json_.begin_object();
    json_.key("schema").value("sonde.job/1");
    json_.key("verdict");
    job_.verdict ? verdict(*job_.verdict) : json_.null();
    list("suspects", job_.suspects, [&](const JobVerdict& one) { verdict(one); });
    list("slow_groups", job_.slow_groups, [&](const JobSlowGroup& one) { slow_group(one); });
    list("hangs", job_.hangs, [&](const JobHang& one) { hang(one); });
    json_.key("world_size").value(job_.world_size);
    numbers("missing_ranks", job_.missing);
    numbers("began_late", job_.began_late);
    json_.key("total_ns").value(job_.total_ns);
    json_.key("step_ns").value(job_.step_ns);
    json_.key("noise_ns").value(job_.noise_ns);
    json_.key("sends_without_peers").value(job_.pairs_unknown);
    json_.key("contradictions").value(job_.contradictions);
    json_.key("worst_contradiction_ns").value(job_.worst_contradiction_ns);
    list("clocks", job_.clocks, [&](const JobClock& one) { clock(one); });
    list("ranks", job_.ranks, [&](const JobRank& one) { rank(one); });
    list("groups", job_.groups, [&](const JobGroup& one) { group(one); });
    list("collectives", job_.collectives, [&](const JobCollective& one) { collective(one); });
    list("steps", job_.steps, [&](const JobStep& one) { step(one); });
    devices();
    json_.key("replay");
    job_.replay ? replay(*job_.replay) : json_.null();
    text_or_null("replay_refused", job_.replay_refused);
    json_.key("notes").begin_array();
    for (const std::string& note : job_.notes) json_.value(note);
    json_.end_array();
    json_.end_object();
  }

 private:
  template <typename Rows, typename Fill>
  void list(std::string_view key, const Rows& rows, Fill fill) {
    json_.key(key).begin_array();
    for (const auto& row : rows) fill(row);
    json_.end_array();
  }
  void numbers(std::string_view key, const std::vector<std::int32_t>& values) {
    json_.key(key).begin_array();
    for (const std::int32_t value : values) json_.value(value);
    json_.end_array();
  }
  void real(std::string_view key, double value) {
    json_.key(key).embed(format_text("{:.6g}", value));
  }
  void text_or_null(std::string_view key, std::string_view text) {
    json_.key(key);
    text.empty() ? json_.null() : json_.value(text);
  }

  void verdict(const JobVerdict& one) {
    json_.begin_object();
    json_.key("rank").value(one.rank);
    numbers("ranks", one.ranks);
    text_or_null("host", one.host);
    text_or_null("cause", one.cause);
    text_or_null("name", one.name);
    text_or_null("operator", one.op);
    text_or_null("range", one.range);
    json_.key("cause_own_ns").value(one.cause_own_ns);
    json_.key("cause_others_ns").value(one.cause_others_ns);
    real("cause_share", one.cause_share);
    json_.key("per_step_ns");
    job_.steps.empty() ? json_.null() : json_.value(one.per_step_ns);
    json_.key("total_ns").value(one.total_ns);
    real("share", one.share);
    json_.key("collectives").value(one.times);
    json_.key("steps").value(one.steps);
    list("causes", one.causes, [&](const JobCause& cause) {
      json_.begin_object();
      json_.key("cause").value(cause.cause);
      text_or_null("name", cause.name);
      text_or_null("operator", cause.op);
      text_or_null("range", cause.range);
      json_.key("extra_ns").value(cause.extra_ns);
      json_.key("own_ns").value(cause.own_ns);
      json_.key("others_ns").value(cause.others_ns);
      real("share", cause.share);
      json_.end_object();
    });
    json_.end_object();
  }

  void slow_group(const JobSlowGroup& one) {
    json_.begin_object();
    json_.key("group").value(job_.groups[one.group].name);
    numbers("ranks", job_.groups[one.group].ranks);
    json_.key("name").value(job_.text(one.name));
    json_.key("bytes");
    one.bytes < 0 ? json_.null() : json_.value(one.bytes);
    json_.key("calls").value(one.calls);
    json_.key("transfer_ns").value(one.transfer_ns);
    json_.key("others_ns").value(one.others_ns);
    json_.key("total_ns").value(one.total_ns);
    json_.end_object();
  }

  void hang(const JobHang& one) {
    json_.begin_object();
    json_.key("group").value(job_.groups[one.group].name);
    json_.key("name").value(one.name);
    numbers("waiting", one.waiting);
    numbers("absent", one.absent);
    text_or_null("last_activity", one.last_activity);
    json_.end_object();
  }

  void replay(const JobSimulation& one) {
    json_.begin_object();
    json_.key("steps").value(one.steps);
    json_.key("measured_step_ns").value(one.measured_step_ns);
    json_.key("replayed_step_ns").value(one.replayed_step_ns);
    real("error", one.error);
    json_.key("ideal_step_ns").value(one.ideal_step_ns);
    real("slowdown", one.slowdown);
    json_.key("usual_work_step_ns").value(one.usual_work_step_ns);
    json_.key("usual_transfers_step_ns").value(one.usual_transfers_step_ns);
    json_.key("without_culprits_step_ns");
    job_.verdict ? json_.value(one.without_culprits_step_ns) : json_.null();
    json_.key("without_culprits_kept_step_ns");
    job_.verdict ? json_.value(one.without_culprits_kept_step_ns) : json_.null();
    list("without_rank", one.without, [&](const JobSimulation::Without& without) {
      json_.begin_object();
      json_.key("rank").value(without.rank);
      json_.key("step_ns").value(without.step_ns);
      json_.end_object();
    });
    list("without_host", one.without_hosts, [&](const JobSimulation::WithoutHost& without) {
      json_.begin_object();
      json_.key("host").value(without.host);
      json_.key("step_ns").value(without.step_ns);
      json_.end_object();
    });
    list("critical_path", one.path, [&](const JobPathPart& part) {
      json_.begin_object();
      json_.key("rank").value(part.rank);
      json_.key("work_ns").value(part.work_ns);
      json_.key("transfer_ns").value(part.transfer_ns);
      json_.end_object();
    });
    json_.end_object();
  }

  void clock(const JobClock& one) {
    json_.begin_object();
    json_.key("rank").value(one.rank);
    text_or_null("host", one.host);
    json_.key("aligned").value(one.is_aligned);
    json_.key("offset_ns").value(one.offset_ns);
    json_.key("error_ns").value(one.error_ns);
    json_.key("low_ns");
    one.is_bounded_below ? json_.value(one.low_ns) : json_.null();
    json_.key("high_ns");
    one.is_bounded_above ? json_.value(one.high_ns) : json_.null();
    real("drift_ppm", one.drift_ppm);
    json_.key("at_ns").value(one.at_ns);
    json_.key("collectives").value(one.collectives);
    json_.end_object();
  }

  void rank(const JobRank& one) {
    json_.begin_object();
    json_.key("rank").value(one.rank);
    json_.key("file").value(one.source);
    text_or_null("host", one.host);
    json_.key("collectives").value(one.collectives);
    json_.key("wait_ns").value(one.wait_ns);
    json_.key("exposed_wait_ns").value(one.exposed_ns);
    json_.key("transfer_ns").value(one.transfer_ns);
    json_.key("caused_ns").value(one.caused_ns);
    json_.key("times_last").value(one.times_last);
    json_.key("mean_step_ns").value(one.mean_step_ns);
    json_.key("kernel_time_ns").value(one.device.kernel_ns);
    json_.key("idle_ns").value(one.device.idle_ns);
    json_.key("compute_ns").value(one.device.compute_ns);
    json_.key("non_compute_ns").value(one.device.non_compute_ns);
    json_.key("host_wait_ns").value(one.device.host_wait_ns);
    json_.key("kernel_wait_ns").value(one.device.kernel_wait_ns);
    json_.key("other_idle_ns").value(one.device.other_idle_ns);
    json_.key("communication_ns").value(one.device.communication_ns);
    json_.key("overlapped_ns").value(one.device.overlapped_ns);
    json_.key("launches");
    json_.object([&] { launches(one.launches); });
    list("streams", one.streams, [&](const RankStream& of) { json_.object([&] { stream(of); }); });
    list("copies", one.copies, [&](const RankCopies& of) { json_.object([&] { copies(of); }); });
    json_.end_object();
  }

  void launches(const RankLaunches& one) {
    json_.key("count").value(one.count);
    json_.key("call_ns").value(one.call_ns);
    json_.key("device_ns").value(one.device_ns);
    json_.key("delay_ns").value(one.delay_ns);
    json_.key("short_kernels").value(one.short_kernels);
    json_.key("slow_calls").value(one.slow_calls);
    json_.key("delayed").value(one.delayed);
  }

  void stream(const RankStream& one) {
    json_.key("device").value(one.device);
    json_.key("stream").value(one.stream);
    json_.key("host_wait_ns").value(one.host_wait_ns);
    json_.key("kernel_wait_ns").value(one.kernel_wait_ns);
    json_.key("other_idle_ns").value(one.other_idle_ns);
    json_.key("queue_changes").value(one.changes);
    const Spread queue(one.changes, one.queued, one.squares);
    real("queue_mean", queue.mean);
    real("queue_std", queue.deviation);
    json_.key("queue_min").value(one.least_queued);
    json_.key("queue_max").value(one.most_queued);
    json_.key("queue_full_ns").value(one.full_ns);
  }

  void copies(const RankCopies& one) {
    json_.key("name").value(job_.text(one.name));
    json_.key("count").value(one.count);
    json_.key("bytes").value(one.bytes);
    json_.key("sum_ns").value(one.sum_ns);
    const Spread bandwidth(one.count, one.sum, one.squares);
    real("mean_gb_per_s", bandwidth.mean);
    real("std_gb_per_s", bandwidth.deviation);
    real("min_gb_per_s", one.least);
    real("max_gb_per_s", one.most);
    json_.key("series_gb_per_s").begin_array();
    for (const double value : one.series) json_.embed(format_text("{:.4g}", value));
    json_.end_array();
  }

  // What the devices of all ranks ran.
  void devices() {
    json_.key("work_types").begin_array();
    for (std::size_t types = 1; types < job_.running_ns.size(); ++types) {
      if (job_.running_ns[types] == 0) continue;
      json_.object([&] {
        json_.key("types").begin_array();
        for (std::uint8_t type = 0; type < kWorkTypes; ++type)
          if ((types & (std::size_t{1} << type)) != 0)
            json_.value(to_string(static_cast<WorkType>(type)));
        json_.end_array();
        json_.key("sum_ns").value(job_.running_ns[types]);
      });
    }
    json_.end_array();
    list("kernels", job_.kernels, [&](const JobKernel& one) {
      json_.object([&] {
        json_.key("name").value(job_.text(one.all.name));
        json_.key("type").value(to_string(one.all.type));
        kernel(one.all);
        list("ranks", one.ranks, [&](const auto& of) {
          json_.object([&] {
            json_.key("rank").value(of.first);
            kernel(of.second);
          });
        });
      });
    });
    list("other_kernels", job_.other_kernels, [&](const RankKernel& one) {
      if (one.count == 0) return;
      json_.object([&] {
        json_.key("type").value(to_string(one.type));
        kernel(one);
      });
    });
    list("sequences", job_.sequences, [&](const JobSequence& one) {
      json_.object([&] {
        json_.key("operator").value(job_.text(one.all.op));
        json_.key("kernels").begin_array();
        for (const std::uint32_t name : one.all.kernels) json_.value(job_.text(name));
        json_.end_array();
        json_.key("count").value(one.all.count);
        json_.key("device_ns").value(one.all.device_ns);
        json_.key("host_ns").value(one.all.host_ns);
        json_.key("ranks").value(one.ranks);
      });
    });
  }

  void kernel(const RankKernel& one) {
    json_.key("count").value(one.count);
    json_.key("sum_ns").value(one.sum_ns);
    json_.key("min_ns").value(one.least_ns);
    json_.key("max_ns").value(one.most_ns);
    const Spread spread(one.count, static_cast<double>(one.sum_ns), one.squares);
    real("mean_ns", spread.mean);
    real("std_ns", spread.deviation);
  }

  void group(const JobGroup& one) {
    json_.begin_object();
    json_.key("name").value(one.name);
    text_or_null("description", one.description);
    numbers("ranks", one.ranks);
    numbers("missing", one.missing);
    json_.key("assumed").value(one.is_assumed);
    json_.key("spans_hosts").value(one.spans_hosts);
    text_or_null("problem", one.problem);
    text_or_null("matched_by", one.matched_by);
    json_.key("calls").value(one.calls);
    json_.key("states").begin_object();
    for (std::size_t i = 0; i < kMatchStates; ++i)
      if (one.states[i] > 0) json_.key(to_string(static_cast<MatchState>(i))).value(one.states[i]);
    json_.end_object();
    json_.end_object();
  }

  void collective(const JobCollective& one) {
    json_.begin_object();
    json_.key("group").value(job_.groups[one.group].name);
    json_.key("name").value(job_.text(one.name));
    text_or_null("dtype", job_.text(one.dtype));
    json_.key("state").value(to_string(one.state));
    json_.key("bytes");
    one.bytes < 0 ? json_.null() : json_.value(one.bytes);
    json_.key("step");
    one.step < 0 ? json_.null() : json_.value(one.step);
    json_.key("members").value(one.members);
    json_.key("last_rank");
    one.last < 0 ? json_.null() : json_.value(one.last);
    json_.key("first_ns").value(one.first_ns);
    json_.key("last_ns").value(one.last_ns);
    json_.key("end_ns").value(one.end_ns);
    json_.key("wait_ns").value(one.wait_ns);
    json_.key("exposed_wait_ns").value(one.exposed_ns);
    json_.key("transfer_ns").value(one.transfer_ns);
    real("bus_gb_per_s", one.bus_gb_per_s);
    json_.key("late_ns").value(one.late_ns);
    json_.end_object();
  }

  void step(const JobStep& one) {
    json_.begin_object();
    json_.key("step").value(one.number);
    json_.key("duration_ns").value(one.duration_ns);
    json_.key("outlier").value(one.is_outlier);
    list("ranks", one.ranks, [&](const JobStepRank& rank) {
      json_.begin_object();
      json_.key("rank").value(rank.rank);
      json_.key("duration_ns").value(rank.duration_ns);
      json_.key("wait_ns").value(rank.wait_ns);
      json_.key("caused_ns").value(rank.caused_ns);
      json_.end_object();
    });
    json_.end_object();
  }

  const JobReport& job_;
  JsonWriter json_;
};

}  // namespace

void write_job_json(const JobReport& job, Output& out) {
  JobJson(job, out).write();
  out.line("");
}

}  // namespace sonde::cli
