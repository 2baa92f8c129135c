// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/history.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

#include "analyse/compare/gates.h"
#include "analyse/compare/statistics.h"
#include "base/format.h"
#include "base/json.h"
#include "base/json_walk.h"
#include "base/median.h"

namespace sonde {
namespace {

constexpr std::size_t kFewestVersions = 3;  // on each side of a change
constexpr double kChangeLevel = 0.01;
// At most this many versions next to a change determine its size.
constexpr std::size_t kMostCompared = 30;

bool is_time_metric(std::string_view metric) {
  return metric == "step_ns" || metric == "device_ns";
}

std::optional<HistoryValue> read_line(std::string_view line) {
  HistoryValue value;
  std::optional<double> figure;
  JsonWalk walk(line);
  const auto take = [](auto found, auto& into) {
    if (!found) return false;
    into = *std::move(found);
    return true;
  };
  const bool is_read = walk.object([&](std::string_view key) {
    if (key == "commit") return take(walk.string(), value.commit);
    if (key == "run") return take(walk.string(), value.run);
    if (key == "metric") return take(walk.string(), value.metric);
    if (key == "started_ns") return take(walk.integer(), value.started_ns);
    if (key == "value") return (figure = walk.number()).has_value();
    return walk.skip();
  });
  if (!is_read || !walk.at_end() || value.commit.empty() || value.metric.empty() || !figure)
    return std::nullopt;
  value.value = *figure;
  return value;
}

// The figures of one version. Times are compared by the median of its runs, exact figures by their
// range.
struct VersionFigure {
  std::size_t place = 0;
  std::vector<double> runs;

  double median() const { return median_of(runs); }
  double low() const { return *std::min_element(runs.begin(), runs.end()); }
  double high() const { return *std::max_element(runs.begin(), runs.end()); }
};
using Figures = std::vector<VersionFigure>;

std::vector<double> medians_of(const Figures& figures, std::size_t from, std::size_t to) {
  std::vector<double> medians;
  for (std::size_t i = from; i < to; ++i) medians.push_back(figures[i].median());
  return medians;
}

void find_exact_changes(const Figures& figures, std::vector<ChangePoint>& changes) {
  for (std::size_t i = 1; i < figures.size(); ++i) {
    const bool meets =
        figures[i].low() <= figures[i - 1].high() && figures[i].high() >= figures[i - 1].low();
    if (meets) continue;
    ChangePoint change;
    change.place = figures[i].place;
    change.before = figures[i - 1].median();
    change.after = figures[i].median();
    change.is_exact = true;
    change.change = change.before > 0 ? change.after / change.before - 1 : 0;
    changes.push_back(std::move(change));
  }
}

// Splits the series where its two parts differ most, then each part likewise. The probability is
// multiplied by the number of places that were tried (Bonferroni).
class Segmenter {
 public:
  Segmenter(const Figures& figures, double floor) : figures_(figures), floor_(floor) {
    double sum = 0;
    double squares = 0;
    sums_.push_back(0);
    squares_.push_back(0);
    const double origin = std::log(figures.front().median());
    for (const VersionFigure& figure : figures) {
      const double value = std::log(figure.median()) - origin;
      sums_.push_back(sum += value);
      squares_.push_back(squares += value * value);
    }
  }

  std::vector<std::size_t> bounds() {
    bounds_ = {0, figures_.size()};
    split(0, figures_.size());
    std::sort(bounds_.begin(), bounds_.end());
    drop_weak();
    return bounds_;
  }

 private:
  void split(std::size_t from, std::size_t to) {
    if (to - from < 2 * kFewestVersions) return;
    std::size_t best = 0;
    double least = 1;
    for (std::size_t at = from + kFewestVersions; at + kFewestVersions <= to; ++at) {
      const double p = student(from, at, to);
      if (p >= least) continue;
      best = at;
      least = p;
    }
    if (best == 0 || !is_change(from, best, to)) return;
    bounds_.push_back(best);
    split(from, best);
    split(best, to);
  }
  // A part that was split off early may not differ from its present neighbours.
  void drop_weak() {
    for (std::size_t i = 1; i + 1 < bounds_.size();) {
      if (is_change(bounds_[i - 1], bounds_[i], bounds_[i + 1])) {
        ++i;
      } else {
        bounds_.erase(bounds_.begin() + static_cast<std::ptrdiff_t>(i));
        i = 1;
      }
    }
  }
  bool is_change(std::size_t from, std::size_t at, std::size_t to) const {
    const auto places = static_cast<double>(to - from - 2 * kFewestVersions + 1);
    if (student(from, at, to) * places >= kChangeLevel) return false;
    const double before = (sums_[at] - sums_[from]) / static_cast<double>(at - from);
    const double after = (sums_[to] - sums_[at]) / static_cast<double>(to - at);
    return std::abs(std::expm1(after - before)) > floor_;
  }
  // Student's test. It assumes that both parts vary alike, because a short part says little about
  // that.
  double student(std::size_t from, std::size_t at, std::size_t to) const {
    const auto deviations = [&](std::size_t first, std::size_t last) {
      const double sum = sums_[last] - sums_[first];
      return squares_[last] - squares_[first] - sum * sum / static_cast<double>(last - first);
    };
    const auto n_a = static_cast<double>(at - from);
    const auto n_b = static_cast<double>(to - at);
    const double freedom = n_a + n_b - 2;
    const double variance = std::max((deviations(from, at) + deviations(at, to)) / freedom, 1e-12);
    const double shift = (sums_[to] - sums_[at]) / n_b - (sums_[at] - sums_[from]) / n_a;
    return 2 * detail::student_cdf(-std::abs(shift) / std::sqrt(variance * (1 / n_a + 1 / n_b)),
                                   freedom);
  }

  const Figures& figures_;
  double floor_;
  std::vector<double> sums_;
  std::vector<double> squares_;
  std::vector<std::size_t> bounds_;
};

void find_time_changes(const Figures& all, bool is_device, std::vector<ChangePoint>& changes) {
  Figures figures;
  for (const VersionFigure& figure : all)
    if (figure.low() > 0) figures.push_back(figure);
  if (figures.empty()) return;
  const std::vector<std::size_t> bounds =
      Segmenter(figures, is_device ? detail::kDeviceFloor : detail::kHostFloor).bounds();
  for (std::size_t i = 1; i + 1 < bounds.size(); ++i) {
    const std::size_t at = bounds[i];
    const std::size_t from = std::max(bounds[i - 1], at - std::min(at, kMostCompared));
    const std::size_t to = std::min(bounds[i + 1], at + kMostCompared);
    const std::vector<double> before = medians_of(figures, from, at);
    const std::vector<double> after = medians_of(figures, at, to);
    const detail::Shift shift = detail::shift_between(before, after);
    ChangePoint change;
    change.place = figures[at].place;
    change.before = median_of(before);
    change.after = median_of(after);
    change.change = shift.estimate;
    change.low = shift.interval.low;
    change.high = shift.interval.high;
    changes.push_back(std::move(change));
  }
}

}  // namespace

std::vector<HistoryValue> history_values(const std::vector<RunSummary>& runs,
                                         const std::string& commit) {
  std::vector<HistoryValue> values;
  for (const RunSummary& run : runs) {
    const auto add = [&](const std::string& metric, double value) {
      values.push_back({commit, run.name, run.started_ns, metric, value});
    };
    add("step_ns", std::round(run.step_median_ns));
    if (run.device_median_ns > 0) add("device_ns", std::round(run.device_median_ns));
    for (const auto& [name, value] : run.exact) add(name, static_cast<double>(value));
  }
  return values;
}

std::string history_text(const std::vector<HistoryValue>& values) {
  std::string text;
  for (const HistoryValue& value : values)
    text += format_text(
        "{{\"commit\": {}, \"run\": {}, \"started_ns\": {}, \"metric\": {}, \"value\": {:.0f}}}\n",
        json_string(value.commit), json_string(value.run), value.started_ns,
        json_string(value.metric), value.value);
  return text;
}

Result<std::vector<HistoryValue>> parse_history(std::string_view text) {
  std::vector<HistoryValue> values;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    std::optional<HistoryValue> value = read_line(line);
    if (!value)
      return Failure(ErrorCode::Corrupt,
                     format_text("line {} is not of a history; each is an object with commit, "
                                 "metric and value",
                                 number));
    values.push_back(*std::move(value));
  }
  return values;
}

std::vector<std::string> history_commits(const std::vector<HistoryValue>& values) {
  std::vector<std::string> commits;
  std::unordered_map<std::string_view, bool> known;
  for (const HistoryValue& value : values)
    if (known.try_emplace(value.commit, true).second) commits.push_back(value.commit);
  return commits;
}

std::vector<ChangePoint> change_points(const std::vector<HistoryValue>& values) {
  const std::vector<std::string> commits = history_commits(values);
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < commits.size(); ++i) places[commits[i]] = i;
  std::map<std::string, std::map<std::size_t, std::vector<double>>> metrics;
  for (const HistoryValue& value : values)
    metrics[value.metric][places[value.commit]].push_back(value.value);
  std::vector<ChangePoint> changes;
  for (const auto& [metric, versions] : metrics) {
    Figures figures;
    for (const auto& [place, runs] : versions) figures.push_back({place, runs});
    const std::size_t before = changes.size();
    if (is_time_metric(metric)) {
      find_time_changes(figures, metric == "device_ns", changes);
    } else {
      find_exact_changes(figures, changes);
    }
    for (std::size_t i = before; i < changes.size(); ++i) {
      changes[i].metric = metric;
      changes[i].commit = commits[changes[i].place];
    }
  }
  return changes;
}

}  // namespace sonde
