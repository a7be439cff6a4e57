// The log goes on, whoever reads it, and says what it lost.
#include "router/process/log/bounded_sink.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spdlog/logger.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace hecto::router {
namespace {

using namespace std::chrono_literals;

class BoundedSinkTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  void TearDown() override {
    ::close(ends_[0]);
    if (ends_[1] >= 0) ::close(ends_[1]);
  }
  // The logger of a sink, which writes bare lines.
  static spdlog::logger logger(const std::shared_ptr<BoundedSink>& sink) {
    spdlog::logger made("", sink);
    made.set_pattern("%v");
    return made;
  }
  std::string read_until(const std::string& last) {
    std::string text;
    char buffer[4096];
    while (text.find(last) == std::string::npos) {
      const ssize_t got = ::read(ends_[0], buffer, sizeof buffer);
      if (got <= 0) break;
      text.append(buffer, static_cast<size_t>(got));
    }
    return text;
  }
  int ends_[2] = {-1, -1};
};

TEST_F(BoundedSinkTest, WritesLinesInOrder) {
  auto sink = std::make_shared<BoundedSink>(ends_[1]);
  auto log = logger(sink);
  for (int i = 0; i < 3; ++i) log.info("line {}", i);
  sink->drain(10s);
  EXPECT_EQ(read_until("line 2\n"), "line 0\nline 1\nline 2\n");
  EXPECT_EQ(sink->lost(), 0u);
}

TEST_F(BoundedSinkTest, AReaderThatStandsStillHoldsNobodyUpAndIsToldWhatItMissed) {
  auto sink = std::make_shared<BoundedSink>(ends_[1], BoundedSink::Options{.most_bytes = 64 << 10});
  auto log = logger(sink);
  const std::string much(1000, 'x');
  for (int i = 0; i < 1000; ++i) log.info(much);  // a megabyte; pipe and queue hold 128 KiB
  EXPECT_GT(sink->lost(), 700u);
  const uint64_t lost = sink->lost();
  const std::string text =
      read_until(fmt::format("log: {} lines were lost so far, as nobody read them\n", lost));
  EXPECT_EQ(static_cast<uint64_t>(std::count(text.begin(), text.end(), 'x')), (1000 - lost) * 1000);
  log.info("again");
  EXPECT_EQ(read_until("again\n"), "again\n");
}

// The thread stands in its write: the end of the process does not wait for it.
TEST_F(BoundedSinkTest, EndsThoughNobodyReads) {
  auto sink = std::make_shared<BoundedSink>(ends_[1]);
  auto log = std::make_unique<spdlog::logger>("", sink);
  log->set_pattern("%v");
  for (int i = 0; i < 200; ++i) log->info(std::string(1000, 'x'));
  log->info("last");
  log.reset();
  const auto begun = std::chrono::steady_clock::now();
  sink.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
  EXPECT_EQ(read_until("last\n").size(), 200u * 1001 + 5) << "the thread goes before the pipe does";
}

TEST_F(BoundedSinkTest, WhatRepeatsIsCounted) {
  auto sink = std::make_shared<BoundedSink>(ends_[1], BoundedSink::Options{.limit_repeats = true});
  auto log = logger(sink);
  for (int i = 0; i < 62; ++i) log.warn("port a: no");
  log.info("port b: yes");
  sink->drain(10s);
  const std::string five = "port a: no\nport a: no\nport a: no\nport a: no\nport a: no\n";
  EXPECT_EQ(read_until("more\n"), five + "port b: yes\nport a: no … 57 times more\n");
}

// Nobody logs any more when the window ends.
TEST_F(BoundedSinkTest, WhatRepeatedIsToldByItself) {
  auto sink = std::make_shared<BoundedSink>(ends_[1], BoundedSink::Options{.limit_repeats = true});
  auto log = logger(sink);
  for (int i = 0; i < 6; ++i) log.warn("no");
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(read_until("more\n"), "no\nno\nno\nno\nno\nno … 1 time more\n");
  EXPECT_GT(std::chrono::steady_clock::now() - begun, 9s);
}

TEST_F(BoundedSinkTest, ALoggerWithANameIsNotLimited) {
  auto sink = std::make_shared<BoundedSink>(ends_[1], BoundedSink::Options{.limit_repeats = true});
  spdlog::logger trail("audit", sink);
  trail.set_pattern("%v");
  for (int i = 0; i < 20; ++i) trail.info("audit: uid 0 did it");
  trail.info("last");
  const std::string text = read_until("last\n");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 21);
}

TEST_F(BoundedSinkTest, AReaderThatIsGoneEndsNothing) {
  auto sink = std::make_shared<BoundedSink>(ends_[1]);
  auto log = logger(sink);
  ::signal(SIGPIPE, SIG_IGN);
  ::close(std::exchange(ends_[0], ::dup(2)));
  for (int i = 0; i < 100; ++i) log.info("nobody");
  sink->drain(10s);
}

}  // namespace
}  // namespace hecto::router
