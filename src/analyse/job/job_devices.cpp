// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the devices of all ranks ran, added up over the ranks.

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analyse/job/job_data.h"
#include "base/sum.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostKernels = 10;  // of each type
constexpr std::size_t kMostSequencesOfJob = 20;

void add(RankKernel& sum, const RankKernel& more) {
  if (more.count == 0) return;
  sum.least_ns = sum.count == 0 ? more.least_ns : std::min(sum.least_ns, more.least_ns);
  sum.most_ns = std::max(sum.most_ns, more.most_ns);
  sum.count += more.count;
  add_to(sum.sum_ns, more.sum_ns);
  sum.squares += more.squares;
}

class JobDevices {
 public:
  explicit JobDevices(JobData& data) : data_(data), report_(data.report) {}

  void run() {
    for (std::size_t r = 0; r < data_.ranks.size(); ++r) {
      learn_texts(data_.ranks[r]);
      add_rank(data_.ranks[r], report_.ranks[r]);
    }
    keep_kernels();
    keep_sequences();
  }

 private:
  // The places of this rank's texts among those of the job, found when they are needed.
  void learn_texts(const RankSummary& rank) {
    rank_ = &rank;
    places_.assign(rank.texts.size(), kNoMatch);
  }
  std::uint32_t text(std::uint32_t place) {
    if (place >= places_.size()) return data_.text("");
    if (places_[place] == kNoMatch) places_[place] = data_.text(rank_->text(place));
    return places_[place];
  }

  void add_rank(const RankSummary& rank, JobRank& to) {
    for (std::size_t i = 0; i < rank.running_ns.size(); ++i)
      add_to(report_.running_ns[i], rank.running_ns[i]);
    for (RankKernel kernel : rank.kernels) {
      kernel.name = text(kernel.name);
      JobKernel& sum = kernels_[{kernel.type, kernel.name}];
      add(sum.all, kernel);
      sum.ranks.emplace_back(rank.rank, kernel);
    }
    to.copies = rank.copies;
    for (RankCopies& copies : to.copies) copies.name = text(copies.name);
    for (const RankSequence& one : rank.sequences) {
      std::vector<std::uint32_t> key = {text(one.op)};
      for (const std::uint32_t kernel : one.kernels) key.push_back(text(kernel));
      JobSequence& sum = sequences_[std::move(key)];
      ++sum.ranks;
      sum.all.count += one.count;
      add_to(sum.all.device_ns, one.device_ns);
      add_to(sum.all.host_ns, one.host_ns);
    }
  }

  void keep_kernels() {
    std::vector<JobKernel> all;
    for (auto& [key, kernel] : kernels_) {
      std::tie(kernel.all.type, kernel.all.name) = key;
      all.push_back(std::move(kernel));
    }
    std::stable_sort(all.begin(), all.end(), [](const JobKernel& a, const JobKernel& b) {
      return a.all.sum_ns > b.all.sum_ns;
    });
    std::array<std::size_t, kWorkTypes> kept{};
    for (JobKernel& kernel : all) {
      const auto type = static_cast<std::size_t>(kernel.all.type);
      report_.other_kernels[type].type = kernel.all.type;
      if (kept[type]++ < kMostKernels) {
        report_.kernels.push_back(std::move(kernel));
      } else {
        add(report_.other_kernels[type], kernel.all);
      }
    }
  }

  void keep_sequences() {
    for (auto& [key, sequence] : sequences_) {
      sequence.all.op = key.front();
      sequence.all.kernels.assign(key.begin() + 1, key.end());
      report_.sequences.push_back(std::move(sequence));
    }
    std::stable_sort(report_.sequences.begin(), report_.sequences.end(),
                     [](const JobSequence& a, const JobSequence& b) {
                       return std::tuple(a.all.count, a.all.device_ns) >
                              std::tuple(b.all.count, b.all.device_ns);
                     });
    if (report_.sequences.size() > kMostSequencesOfJob)
      report_.sequences.resize(kMostSequencesOfJob);
  }

  JobData& data_;
  JobReport& report_;
  const RankSummary* rank_ = nullptr;
  std::vector<std::uint32_t> places_;
  std::map<std::pair<WorkType, std::uint32_t>, JobKernel> kernels_;
  std::map<std::vector<std::uint32_t>, JobSequence> sequences_;
};

}  // namespace

void sum_device_work(JobData& data) {
  JobDevices(data).run();
}

}  // namespace sonde::detail
