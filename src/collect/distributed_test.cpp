// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/distributed.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/json.h"

namespace sonde {
namespace {

std::optional<DistributedInfo> detect(const std::map<std::string, std::string>& variables) {
  return detect_distributed_info([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

// Values that no test expects, for when nothing was found.
const DistributedInfo kNone{.rank = -99, .world_size = -99, .local_rank = -99};

DistributedInfo found(const std::map<std::string, std::string>& variables) {
  return detect(variables).value_or(kNone);
}

TEST(DetectDistributedInfo, FindsNothingInAnEmptyEnvironment) {
  EXPECT_FALSE(detect({}));
}

TEST(DetectDistributedInfo, ReadsTorchrun) {
  const DistributedInfo info = found({{"RANK", "5"}, {"WORLD_SIZE", "16"}, {"LOCAL_RANK", "1"}});
  EXPECT_EQ(info.rank, 5);
  EXPECT_EQ(info.world_size, 16);
  EXPECT_EQ(info.local_rank, 1);
}

TEST(DetectDistributedInfo, ReadsOpenMpi) {
  const DistributedInfo info = found({{"OMPI_COMM_WORLD_RANK", "2"},
                                      {"OMPI_COMM_WORLD_SIZE", "4"},
                                      {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}});
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.world_size, 4);
  EXPECT_EQ(info.local_rank, 0);
}

TEST(DetectDistributedInfo, ReadsMpich) {
  const DistributedInfo info = found({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}});
  EXPECT_EQ(info.rank, 1);
  EXPECT_EQ(info.world_size, 4);
  EXPECT_EQ(info.local_rank, -1);
}

TEST(LauncherJob, IsThatOfTheQueueIfThereIsOne) {
  const auto job = [](const std::map<std::string, std::string>& variables) {
    return launcher_job_json([&](const char* name) -> const char* {
      const auto found_one = variables.find(name);
      return found_one == variables.end() ? nullptr : found_one->second.c_str();
    });
  };
  EXPECT_EQ(job({}), "");
  EXPECT_EQ(job({{"TORCHELASTIC_RUN_ID", "none"}}), "");
  EXPECT_EQ(job({{"TORCHELASTIC_RUN_ID", "a\"b"}}), R"({"launcher": "torchrun", "id": "a\"b"})");
  EXPECT_EQ(job({{"TORCHELASTIC_RUN_ID", "x"}, {"SLURM_JOB_ID", "4711"}}),
            R"({"launcher": "slurm", "id": "4711"})");
}

TEST(DetectDistributedInfo, ReadsSlurm) {
  const DistributedInfo info =
      found({{"SLURM_PROCID", "7"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "3"}});
  EXPECT_EQ(info.rank, 7);
  EXPECT_EQ(info.world_size, 8);
  EXPECT_EQ(info.local_rank, 3);
}

TEST(DetectDistributedInfo, PrefersTorchrunToTheSchedulerItRunsUnder) {
  const DistributedInfo info =
      found({{"RANK", "5"}, {"WORLD_SIZE", "16"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}});
  EXPECT_EQ(info.rank, 5);
}

TEST(DetectDistributedInfo, PassesOverALauncherThatGivesNoSize) {
  const DistributedInfo info = found({{"RANK", "5"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}});
  EXPECT_EQ(info.rank, 1);
}

TEST(DetectDistributedInfo, LeavesTheLocalRankUnknownWhereItIsMissing) {
  const DistributedInfo info = found({{"RANK", "0"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(info.local_rank, -1);
}

TEST(DetectDistributedInfo, RefusesWhatIsNoRankOfTheJob) {
  EXPECT_FALSE(detect({{"RANK", "2"}, {"WORLD_SIZE", "2"}}));
  EXPECT_FALSE(detect({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}));
  EXPECT_FALSE(detect({{"RANK", "one"}, {"WORLD_SIZE", "2"}}));
  EXPECT_FALSE(detect({{"RANK", "1x"}, {"WORLD_SIZE", "2"}}));
  EXPECT_FALSE(detect({{"RANK", ""}, {"WORLD_SIZE", "2"}}));
  EXPECT_FALSE(detect({{"RANK", "0"}, {"WORLD_SIZE", "99999999999"}}));
}

TEST(DistributedInfo, TakesTheProgramsWordBeforeTheEnvironments) {
  DistributedInfo own;
  own.rank = 41;
  own.world_size = 42;
  set_distributed_info(own);
  const DistributedInfo info = distributed_info().value_or(kNone);
  reset_distributed_info();
  EXPECT_EQ(info.rank, 41);
}

TEST(DistributedInfoJson, HasPyTorchsKeysAndOnlyWhatIsKnown) {
  DistributedInfo info;
  info.rank = 1;
  info.world_size = 2;
  info.backend = "nccl";
  EXPECT_EQ(distributed_info_json(info), R"({"backend": "nccl", "rank": 1, "world_size": 2})");
}

TEST(DistributedInfoJson, CarriesTheProcessGroups) {
  DistributedInfo info;
  info.local_rank = 0;
  info.pg_count = 1;
  info.pg_config = R"([{"pg_name": "0", "ranks": [0]}])";
  EXPECT_EQ(distributed_info_json(info),
            R"({"backend": "", "rank": 0, "world_size": 1, "local_rank": 0, "pg_count": 1, )"
            R"("pg_config": [{"pg_name": "0", "ranks": [0]}]})");
}

TEST(DistributedInfoJson, IsValidWhateverTheBackendIsCalled) {
  DistributedInfo info;
  info.backend = "a\"b\\c\n";
  info.pg_config = "[broken";
  EXPECT_TRUE(validate_json(distributed_info_json(info)));
}

}  // namespace
}  // namespace sonde
