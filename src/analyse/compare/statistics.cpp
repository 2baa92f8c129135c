// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/compare/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/median.h"

namespace sonde::detail {
namespace {

// The continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr int kMostTerms = 300;
  constexpr double kTiny = 1e-300;
  constexpr double kEnough = 1e-15;
  const auto not_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < kEnough) break;
  }
  return result;
}

double regularised_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments(const std::vector<double>& values) {
  Moments result;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / count;
  for (const double value : values)
    result.variance += (value - result.mean) * (value - result.mean) / (count - 1);
  return result;
}

std::vector<double> logarithms(const std::vector<double>& values) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) logs.push_back(std::log(value));
  return logs;
}

// For each U, in how many ways it comes about. U counts how often a value of one sample exceeds one
// of the other.
std::vector<double> rank_sum_counts(std::size_t a, std::size_t b) {
  std::vector<std::vector<double>> row(b + 1, std::vector<double>(a * b + 1, 0));
  for (std::size_t j = 0; j <= b; ++j) row[j][0] = 1;
  for (std::size_t i = 1; i <= a; ++i) {
    for (std::size_t j = 1; j <= b; ++j) {
      // row[j] still holds i - 1 values: one more of them exceeds all j.
      std::vector<double> next = row[j - 1];
      for (std::size_t u = j; u <= a * b; ++u) next[u] += row[j][u - j];
      row[j] = std::move(next);
    }
  }
  return row[b];
}

std::vector<double> all_differences(const std::vector<double>& base,
                                    const std::vector<double>& now) {
  std::vector<double> differences;
  for (const double a : base)
    for (const double b : now) differences.push_back(b - a);
  std::sort(differences.begin(), differences.end());
  return differences;
}

double smaller_rank_sum(const std::vector<double>& sorted_differences) {
  double below = 0;
  for (const double difference : sorted_differences)
    below += difference < 0 ? 1 : difference == 0 ? 0.5 : 0;
  return std::min(below, static_cast<double>(sorted_differences.size()) - below);
}

// Moses' interval: the differences at the places where the rank test would reject.
Interval moses(const std::vector<double>& differences, std::size_t a, std::size_t b) {
  std::size_t place = 0;
  while (mann_whitney_p(static_cast<double>(place), a, b) <= 0.05) ++place;
  return {differences[place == 0 ? 0 : place - 1],
          differences[differences.size() - (place == 0 ? 1 : place)]};
}

}  // namespace

double student_cdf(double t, double freedom) {
  const double tail = 0.5 * regularised_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
  return t < 0 ? tail : 1 - tail;
}

// Newton's method, kept within what is known to hold the value.
double student_quantile(double p, double freedom) {
  const double scale = std::exp(std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2)) /
                       std::sqrt(freedom * std::acos(-1.0));
  double low = -1e6;
  double high = 1e6;
  double at = 0;
  for (int i = 0; i < 100; ++i) {
    const double miss = student_cdf(at, freedom) - p;
    (miss < 0 ? low : high) = at;
    const double density = scale * std::pow(1 + at * at / freedom, -(freedom + 1) / 2);
    double next = at - miss / density;
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (std::abs(next - at) < 1e-10 * (1 + std::abs(at))) return next;
    at = next;
  }
  return at;
}

double mann_whitney_p(double u, std::size_t a, std::size_t b) {
  const std::vector<double> counts = rank_sum_counts(a, b);
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  const auto last = static_cast<std::size_t>(std::floor(u));
  double tail = 0;
  for (std::size_t i = 0; i <= last && i < counts.size(); ++i) tail += counts[i];
  return std::min(1.0, 2 * tail / all);
}

Shift shift_between(const std::vector<double>& base, const std::vector<double>& now) {
  const std::vector<double> a = logarithms(base);
  const std::vector<double> b = logarithms(now);
  const std::vector<double> differences = all_differences(a, b);
  const Moments of_a = moments(a);
  const Moments of_b = moments(b);
  const auto n_a = static_cast<double>(a.size());
  const auto n_b = static_cast<double>(b.size());
  // Clocks and counters have limited resolution: equal values do not prove that nothing varies.
  constexpr double kLeastVariance = 1e-12;
  const double v_a = std::max(of_a.variance, kLeastVariance) / n_a;
  const double v_b = std::max(of_b.variance, kLeastVariance) / n_b;
  Shift shift;
  shift.estimate = std::expm1(median_of(differences));
  shift.freedom = (v_a + v_b) * (v_a + v_b) / (v_a * v_a / (n_a - 1) + v_b * v_b / (n_b - 1));
  shift.spread =
      std::sqrt(((n_a - 1) * of_a.variance + (n_b - 1) * of_b.variance) / (n_a + n_b - 2));
  shift.error = std::sqrt(v_a + v_b);
  const double t = (of_b.mean - of_a.mean) / shift.error;
  shift.p_more = student_cdf(-t, shift.freedom);
  shift.p_welch = 2 * student_cdf(-std::abs(t), shift.freedom);
  const double reach = student_quantile(0.975, shift.freedom) * shift.error;
  shift.interval = {std::expm1(of_b.mean - of_a.mean - reach),
                    std::expm1(of_b.mean - of_a.mean + reach)};
  if (a.size() >= 5 && b.size() >= 5)
    shift.p_ranks = mann_whitney_p(smaller_rank_sum(differences), a.size(), b.size());
  if (a.size() >= 6 && b.size() >= 6) {
    const Interval logs = moses(differences, a.size(), b.size());
    shift.interval = {std::expm1(logs.low), std::expm1(logs.high)};
  }
  return shift;
}

double detectable_change(const Shift& shift, double level, double floor) {
  const double least =
      std::max(student_quantile(1 - level, shift.freedom) * shift.error, std::log1p(floor));
  return std::expm1(least + student_quantile(0.8, shift.freedom) * shift.error);
}

std::vector<bool> discoveries(const std::vector<double>& p, double q) {
  std::vector<double> sorted = p;
  std::sort(sorted.begin(), sorted.end());
  double threshold = -1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double allowed = q * static_cast<double>(i + 1) / static_cast<double>(sorted.size());
    if (sorted[i] <= allowed) threshold = sorted[i];
  }
  std::vector<bool> found;
  found.reserve(p.size());
  for (const double value : p) found.push_back(value <= threshold);
  return found;
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double most = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    most = std::max(most, std::min(1.0, p[order[i]] * static_cast<double>(p.size() - i)));
    adjusted[order[i]] = most;
  }
  return adjusted;
}

}  // namespace sonde::detail
