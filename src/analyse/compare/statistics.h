// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The statistics of comparisons. Values are one for each run; all are positive, and compared by
// their logarithms, so that effects are ratios. docs/metrics.md defines each figure.

#include <cstddef>
#include <vector>

namespace sonde::detail {

// P(T <= t) of Student's distribution, and back. `freedom` > 0.
double student_cdf(double t, double freedom);
double student_quantile(double p, double freedom);

struct Interval {
  double low = 0;
  double high = 0;
};

// Two samples of at least two values each. Shifts are relative: 0.05 means 5 % more.
struct Shift {
  double estimate = 0;  // Hodges and Lehmann's: the median of all ratios, less 1
  Interval interval;    // 95 %: Welch's, or Moses' where both sides have six values
  double p_welch = 1;   // two-sided
  double p_more = 1;    // of Welch's test, one-sided: that the new side is not larger
  double p_ranks = -1;  // Mann and Whitney's, exact; -1: fewer than five values on each side
  double spread = 0;    // standard deviation of the logarithms, of both sides together
  double error = 0;     // of the difference of the means of the logarithms, by Welch
  double freedom = 1;   // of Welch's test
};
Shift shift_between(const std::vector<double>& base, const std::vector<double>& now);

// The least relative change that is found in 80 % of cases: by Welch's test at this one-sided
// level, and larger than `floor` as measured.
double detectable_change(const Shift& shift, double level, double floor = 0);

// Two-sided, of the smaller rank sum U between samples without ties.
double mann_whitney_p(double u, std::size_t a, std::size_t b);

// Which of the p-values are findings at false discovery rate q (Benjamini and Hochberg).
std::vector<bool> discoveries(const std::vector<double>& p, double q);
// p-values as Holm adjusts them for being several.
std::vector<double> holm(const std::vector<double>& p);

}  // namespace sonde::detail
