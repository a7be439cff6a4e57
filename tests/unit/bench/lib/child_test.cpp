#include "bench/lib/child.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "tests/unit/bench/lib/folder.hpp"

namespace hecto::bench {
namespace {

class ChildTest : public testing::Test {
 protected:
  std::unique_ptr<Child> shell(const std::string& script) {
    auto child = Child::start({"sh", "-c", script}, {.log = folder_ / "log", .cpus = {}});
    if (!child) throw std::runtime_error(child.error().message);
    return std::move(*child);
  }
  std::vector<std::string> said() const { return last_lines(folder_ / "log", 3); }

  Folder folder_;
};

TEST_F(ChildTest, GivesItsExitCodeAndWhatItSaid) {
  EXPECT_EQ(shell("echo one; echo two >&2; exit 7")->wait(10), 7);
  EXPECT_EQ(said(), (std::vector<std::string>{"one", "two"}));
}

TEST_F(ChildTest, KeepsRunningUntilItIsStopped) {
  auto child = shell("sleep 60");
  EXPECT_EQ(child->wait(0.01), std::nullopt);
  EXPECT_TRUE(child->running());
  EXPECT_EQ(child->stop(), 128 + SIGTERM);
  EXPECT_FALSE(child->running());
}

TEST_F(ChildTest, IsKilledWhenItDoesNotListen) {
  auto child = shell("trap '' TERM; echo deaf; while :; do sleep 0.05; done");
  while (said().empty()) child->wait(0.01);
  EXPECT_EQ(child->stop(0.1), 128 + SIGKILL);
}

TEST_F(ChildTest, ReadsWhatItIsTold) {
  auto child = shell("read word; echo got $word");
  EXPECT_TRUE(child->say("hello\n"));
  EXPECT_EQ(child->wait(10), 0);
  EXPECT_EQ(said(), std::vector<std::string>{"got hello"});
  EXPECT_FALSE(child->say("more\n"));
}

TEST_F(ChildTest, MayUseAllCpusThoughWeArePinned) {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  auto child = shell("nproc");
  sched_setaffinity(0, sizeof all, &all);
  EXPECT_EQ(child->wait(10), 0);
  EXPECT_EQ(said()[0], std::to_string(CPU_COUNT(&all)));
}

TEST_F(ChildTest, NamesTheProgramThatIsNotThere) {
  const auto child = Child::start({"hecto-no-such-program"}, {.log = folder_ / "log", .cpus = {}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().message,
            "hecto-no-such-program: cannot be run: No such file or directory");
}

TEST(DescribeExit, TellsCodesFromSignals) {
  EXPECT_EQ(describe_exit(2), "exit code 2");
  EXPECT_EQ(describe_exit(128 + SIGSEGV), "signal 11 (Segmentation fault)");
}

TEST(LastLines, AreThoseThatSaySomething) {
  const Folder folder;
  std::ofstream(folder / "text") << "a\n\nb\n  \nc\n";
  EXPECT_EQ(last_lines(folder / "text", 2), (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(last_lines(folder / "none", 2).empty());
}

}  // namespace
}  // namespace hecto::bench
