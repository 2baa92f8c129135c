// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/output_file.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

class Report : public ::testing::Test {
 protected:
  Report() : path_(dir_.file("report")) {
    EXPECT_TRUE(write_file_whole(path_, std::string_view()));
  }
  const testing::TempDir dir_;
  const std::string path_;
};

TEST_F(Report, KeepsLinesWhole) {
  add_to_report(path_, ReportKind::Error, "one\ttwo\nthree");
  add_to_report(path_, ReportKind::Adapter, "");
  const auto entries = read_report(path_);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].text, "one two three");
  EXPECT_EQ((*entries)[0].pid, ::getpid());
  EXPECT_EQ((*entries)[1].kind, ReportKind::Adapter);
}

TEST_F(Report, TellsFilesOfOneNameApart) {
  add_to_report(path_, ReportKind::Recording, "/a b.sonde", "0123");
  const auto entries = read_report(path_);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->front().text, "/a b.sonde");
  EXPECT_EQ(entries->front().file_id, "0123");
}

TEST_F(Report, PassesOverWhatItDoesNotKnow) {
  ASSERT_TRUE(write_file_whole(path_, "nonsense\nerror\tx\ty\nerror\t1\tfine\nerror\t2"));
  const auto entries = read_report(path_);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->front().text, "fine");
}

TEST_F(Report, GivesEachRecordingANameOfItsOwn) {
  EXPECT_EQ(claim_output(path_, "run.sonde").value(), "run.sonde");
  EXPECT_EQ(claim_output(path_, "run.sonde").value(), "run.{pid}.sonde");
  EXPECT_EQ(claim_output(path_, "run.sonde").value(), "run.{pid}.3.sonde");
  EXPECT_EQ(claim_output(path_, "x-{pid}.sonde").value(), "x-{pid}.sonde");
  EXPECT_EQ(claim_output(path_, "x-{pid}.sonde").value(), "x-{pid}.2.sonde");
}

TEST_F(Report, GivesNamesWithTabsAndNewlinesOnlyOnce) {
  EXPECT_EQ(claim_output(path_, "a\tb\n.sonde").value(), "a\tb\n.sonde");
  EXPECT_EQ(claim_output(path_, "a\tb\n.sonde").value(), "a\tb\n.{pid}.sonde");
}

TEST_F(Report, TakesOnlyClaimsForClaims) {
  add_to_report(path_, ReportKind::Recording, "run.sonde", "0123");
  add_to_report(path_, ReportKind::Error, "run.sonde");
  EXPECT_EQ(claim_output(path_, "run.sonde").value(), "run.sonde");
}

TEST(Suffix, OfAnExecutionTraceHasSeveralParts) {
  EXPECT_EQ(before_suffix("run.et.json.gz", "2"), "run.2.et.json.gz");
  EXPECT_EQ(before_suffix("a/run.et.json", "2"), "a/run.2.et.json");
  EXPECT_EQ(before_suffix("run.3.json.gz", "2"), "run.3.2.json.gz");
  EXPECT_EQ(before_suffix("a/.json.gz", "2"), "a/.json.2.gz");
}

TEST(Suffix, IsFoundInTheNameOnly) {
  EXPECT_EQ(before_suffix("a.b/run.sonde", "2"), "a.b/run.2.sonde");
  EXPECT_EQ(before_suffix("a.b/run", "2"), "a.b/run.2");
  EXPECT_EQ(before_suffix("/.hidden", "2"), "/.hidden.2");
}

}  // namespace
}  // namespace sonde
