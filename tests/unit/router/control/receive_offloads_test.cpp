// What was on before a router came is on when it has gone, whatever happened between.
#include "router/control/receive_offloads.hpp"

#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "router/dataplane/ports/interface_features.hpp"

namespace hecto::router {
namespace {

const char* const kKey = "netdev-1-x0";

class ReceiveOffloadsTest : public testing::Test {
 protected:
  ReceiveOffloadsTest() : folder_(testing::TempDir() + "hecto-off-" + std::to_string(getpid())) {
    std::filesystem::remove_all(folder_);
  }
  ~ReceiveOffloadsTest() override { std::filesystem::remove_all(folder_); }

  // With x0, whose GRO is on.
  template <typename Work>
  void in_namespace(Work work) {
    bool made = false;
    std::thread thread([&] {
      if (unshare(CLONE_NEWNET) != 0) return;
      made = add() == 0;
      if (made) work();
    });
    thread.join();
    if (!made) GTEST_SKIP() << "no namespace, or no veth";
  }
  static int add() {
    const int code = std::system("ip link add x0 type veth peer name x1 2>/dev/null");
    if (code == 0) (void)InterfaceFeatures::read("x0")->set({"rx-gro"}, true);
    return code;
  }
  static bool gro() { return !InterfaceFeatures::read("x0")->on({"rx-gro"}).empty(); }
  std::unique_ptr<InstanceLocks> take() {
    auto locks = InstanceLocks::open(folder_);
    EXPECT_TRUE((*locks)->take(kKey, "port x (x0)"));
    return std::move(*locks);
  }
  std::string text() const {
    std::ifstream in(folder_ + "/" + lock_file_name(kKey));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // As a router that was killed leaves it.
  void write(const std::string& behind_pid) const {
    const pid_t dead = fork();
    if (dead == 0) _exit(0);
    waitpid(dead, nullptr, 0);
    std::ofstream(folder_ + "/" + lock_file_name(kKey)) << dead << behind_pid << "\n";
  }
  const std::string folder_;
};

TEST_F(ReceiveOffloadsTest, ItIsOffWhileTheRouterRuns) {
  in_namespace([this] {
    const auto locks = take();
    ReceiveOffloads offloads(locks.get());
    EXPECT_TRUE(offloads.turn_off("x", "x0", kKey).empty());
    EXPECT_FALSE(gro());
    const std::string off = " off " + std::to_string(if_nametoindex("x0")) + " ";
    EXPECT_NE(text().find(off), std::string::npos) << text();
    EXPECT_NE(text().find("rx-gro", text().find(off)), std::string::npos) << text();
    offloads.put_back("x0", kKey);
    EXPECT_TRUE(gro());
    EXPECT_EQ(text(), std::to_string(getpid()) + "\n");
    offloads.put_back("x0", kKey);  // nothing more
  });
}

TEST_F(ReceiveOffloadsTest, WhatWasOffStaysOff) {
  in_namespace([this] {
    ASSERT_TRUE(InterfaceFeatures::read("x0")->set({"rx-gro"}, false));
    const auto locks = take();
    ReceiveOffloads offloads(locks.get());
    EXPECT_TRUE(offloads.turn_off("x", "x0", kKey).empty());
    offloads.put_back("x0", kKey);
    EXPECT_FALSE(gro());
  });
}

TEST_F(ReceiveOffloadsTest, TheNextRouterPutsBackWhatAKilledOneTurnedOff) {
  in_namespace([this] {
    take();
    ASSERT_TRUE(InterfaceFeatures::read("x0")->set({"rx-gro"}, false));
    write(" off " + std::to_string(if_nametoindex("x0")) + " rx-gro");
    const auto locks = take();
    EXPECT_NE(text().find(" rx-gro\n"), std::string::npos) << "not forgotten by a second crash";
    ReceiveOffloads offloads(locks.get());
    EXPECT_TRUE(offloads.turn_off("x", "x0", kKey).empty());
    EXPECT_FALSE(gro());
    offloads.put_back("x0", kKey);
    EXPECT_TRUE(gro());
  });
}

TEST_F(ReceiveOffloadsTest, AnotherInterfaceOfThatNameIsNotThatOne) {
  in_namespace([this] {
    take();
    ASSERT_TRUE(InterfaceFeatures::read("x0")->set({"rx-gro"}, false));
    write(" off " + std::to_string(if_nametoindex("x0") + 1000) + " rx-gro");
    const auto locks = take();
    ReceiveOffloads offloads(locks.get());
    EXPECT_TRUE(offloads.turn_off("x", "x0", kKey).empty());
    offloads.put_back("x0", kKey);
    EXPECT_FALSE(gro());
    // And one that is made anew meanwhile is as its maker left it.
    ASSERT_TRUE(InterfaceFeatures::read("x0")->set({"rx-gro"}, true));
    EXPECT_TRUE(offloads.turn_off("x", "x0", kKey).empty());
    ASSERT_EQ(std::system("ip link del x0"), 0);
    ASSERT_EQ(add(), 0);
    ASSERT_TRUE(InterfaceFeatures::read("x0")->set({"rx-gro"}, false));
    offloads.put_back("x0", kKey);
    EXPECT_FALSE(gro());
  });
}

TEST_F(ReceiveOffloadsTest, ARecordOfTheDeadIsNotSwept) {
  const auto locks = take();
  const std::string other = folder_ + "/" + lock_file_name("netdev-1-x9");
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  waitpid(dead, nullptr, 0);
  std::ofstream(other) << dead << " off 7 rx-gro,rx-lro\n";
  EXPECT_EQ(locks->sweep(), 0u);
  EXPECT_TRUE(std::filesystem::exists(other));
  std::ofstream(other) << dead << "\n";
  EXPECT_EQ(locks->sweep(), 1u);
}

}  // namespace
}  // namespace hecto::router
