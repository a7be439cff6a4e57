#include "router/process/log/journal.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spdlog/common.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace hecto::router {
namespace {

TEST(Journal, IsKnownByTheStreamThatTheManagerNames) {
  struct stat is {};
  ASSERT_EQ(fstat(STDERR_FILENO, &is), 0);
  setenv("JOURNAL_STREAM", fmt::format("{}:{}", is.st_dev, is.st_ino).c_str(), 1);
  EXPECT_TRUE(is_journal(STDERR_FILENO));
  setenv("JOURNAL_STREAM", fmt::format("{}:{}", is.st_dev, is.st_ino + 1).c_str(), 1);
  EXPECT_FALSE(is_journal(STDERR_FILENO)) << "stderr goes elsewhere, as by 2>file in the unit";
  unsetenv("JOURNAL_STREAM");
  EXPECT_FALSE(is_journal(STDERR_FILENO));
}

TEST(Journal, PrioritiesAreThoseOfSyslog) {
  EXPECT_EQ(syslog_priority(spdlog::level::critical), 2);
  EXPECT_EQ(syslog_priority(spdlog::level::err), 3);
  EXPECT_EQ(syslog_priority(spdlog::level::warn), 4);
  EXPECT_EQ(syslog_priority(spdlog::level::info), 6);
  EXPECT_EQ(syslog_priority(spdlog::level::debug), 7);
  EXPECT_EQ(syslog_priority(spdlog::level::trace), 7);
}

TEST(Journal, TheSubjectStandsBeforeTheColon) {
  EXPECT_EQ(subject_of("port wan0: the link is down"), "port wan0");
  EXPECT_EQ(subject_of("ipsec: SA 2001:db8::1: no"), "ipsec");
  EXPECT_EQ(subject_of("stopped"), "");
  EXPECT_EQ(subject_of("route 2001:db8::/32 is gone"), "");
  EXPECT_EQ(subject_of("packets arrive with checksums that nobody has finished: a sender"), "");
}

}  // namespace
}  // namespace hecto::router
