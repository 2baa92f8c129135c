// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/view/job_page.h"

#include <algorithm>

#include "base/readable.h"
#include "view/page.h"

namespace sonde {
namespace {

constexpr std::size_t kMostSteps = 500;
constexpr std::size_t kMostRanks = 2048;
constexpr std::size_t kMostArrivals = 512;

class JobPage {
 public:
  JobPage(const JobReport& job, const std::vector<std::string>& sentences)
      : job_(job), sentences_(sentences) {}

  std::string data() {
    texts("sentences", sentences_);
    texts("notes", job_.notes);
    json_.key("blamed").number(job_.verdict ? job_.verdict->rank : -1);
    ranks();
    steps();
    causes();
    arrivals();
    return json_.done();
  }

 private:
  void texts(std::string_view key, const std::vector<std::string>& all) {
    json_.key(key).list(all, [&](const std::string& text) { json_.text(readable_line(text)); });
  }
  void number(std::string_view key, std::int64_t value) { json_.key(key).number(value); }

  void ranks() {
    std::vector<std::size_t> places(std::min(job_.ranks.size(), kMostRanks));
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    number("all_ranks", static_cast<std::int64_t>(job_.ranks.size()));
    json_.key("ranks").list(places, [&](std::size_t i) {
      const JobRank& rank = job_.ranks[i];
      const JobClock& clock = job_.clocks[i];
      json_.object([&] {
        number("rank", rank.rank);
        json_.key("source").text(readable_line(rank.source));
        json_.key("host").text(readable_line(rank.host));
        number("step", rank.mean_step_ns);
        number("outlier", rank.is_outlier ? 1 : 0);
        number("wait", rank.wait_ns);
        number("caused", rank.caused_ns);
        number("last", static_cast<std::int64_t>(rank.times_last));
        number("aligned", clock.is_aligned ? 1 : 0);
        number("offset", clock.offset_ns);
        json_.key("drift").real(clock.drift_ppm * 1e-6);
        number("at", clock.at_ns);
        number("error", clock.error_ns);
        number("low", clock.is_bounded_below ? clock.low_ns : clock.offset_ns);
        number("high", clock.is_bounded_above ? clock.high_ns : clock.offset_ns);
      });
    });
  }

  void steps() {
    const std::size_t shown = std::min(job_.steps.size(), kMostSteps);
    number("all_steps", static_cast<std::int64_t>(job_.steps.size()));
    const std::vector<JobStep> some(job_.steps.begin(),
                                    job_.steps.begin() + static_cast<std::ptrdiff_t>(shown));
    json_.key("steps").list(some, [&](const JobStep& step) {
      json_.object([&] {
        number("step", step.number);
        number("duration", step.duration_ns);
        json_.key("ranks").list(step.ranks, [&](const JobStepRank& rank) {
          const std::int64_t values[] = {rank.rank, rank.duration_ns, rank.wait_ns, rank.caused_ns};
          json_.list(values, [&](std::int64_t value) { json_.number(value); });
        });
      });
    });
  }

  void causes() {
    const std::vector<JobCause> none;
    json_.key("causes").list(job_.verdict ? job_.verdict->causes : none,
                             [&](const JobCause& cause) {
                               json_.object([&] {
                                 json_.key("cause").text(cause.cause);
                                 json_.key("name").text(readable_line(cause.name));
                                 number("extra", cause.extra_ns);
                                 number("own", cause.own_ns);
                                 number("others", cause.others_ns);
                               });
                             });
  }

  // Times from the first arrival.
  void arrivals() {
    json_.key("arrivals").list(job_.arrivals, [&](const JobArrivals& one) {
      json_.object([&] {
        json_.key("name").text(readable_line(job_.text(one.of.name)));
        json_.key("group").text(readable_line(job_.groups[one.of.group].name));
        number("step", one.of.step);
        number("last", one.of.last_ns - one.of.first_ns);
        number("late", one.of.late_ns);
        const std::vector<JobArrivals::Member> some(
            one.members.begin(), one.members.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                           one.members.size(), kMostArrivals)));
        number("members", static_cast<std::int64_t>(one.members.size()));
        json_.key("ranks").list(some, [&](const JobArrivals::Member& member) {
          const std::int64_t values[] = {member.rank, member.start_ns - one.of.first_ns,
                                         member.end_ns - one.of.first_ns, member.error_ns};
          json_.list(values, [&](std::int64_t value) { json_.number(value); });
        });
      });
    });
  }

  const JobReport& job_;
  const std::vector<std::string>& sentences_;
  detail::PageJson json_;
};

}  // namespace

PageView job_view(const JobReport& job, const std::vector<std::string>& sentences) {
  return {"ranks", JobPage(job, sentences).data()};
}

Result<std::string> job_page(const JobReport& job, const std::vector<std::string>& sentences,
                             std::string_view name) {
  return view_page(job_view(job, sentences), name);
}

}  // namespace sonde
