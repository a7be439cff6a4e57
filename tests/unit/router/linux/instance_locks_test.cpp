#include "router/linux/instance_locks.hpp"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace hecto::router {
namespace {

namespace fs = std::filesystem;

class InstanceLocksTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "hecto-locks-" + std::to_string(getpid());
    fs::remove_all(folder_);
    locks_ = open();
    ASSERT_TRUE(locks_);
  }
  void TearDown() override {
    locks_.reset();
    fs::remove_all(folder_);
  }
  std::unique_ptr<InstanceLocks> open() {
    auto opened = InstanceLocks::open(folder_);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    return opened ? std::move(*opened) : nullptr;
  }
  std::string file(const std::string& key) const { return folder_ + "/" + lock_file_name(key); }
  std::string text(const std::string& key) const {
    std::ifstream in(file(key));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& key, const std::string& text) { std::ofstream(file(key)) << text; }
  // A process that is gone.
  static pid_t dead() {
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    waitpid(pid, nullptr, 0);
    return pid;
  }

  std::string folder_;
  std::unique_ptr<InstanceLocks> locks_;
};

TEST(LockText, RoundTrips) {
  for (const LockText& text :
       {LockText{12, 0}, LockText{4194304, 57}, LockText{12, 0, {5, {"rx-gro"}}},
        LockText{12, 57, {2147483647, {"rx-gro", "rx-lro"}}}}) {
    const auto read = LockText::parse(text.to_string());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->pid, text.pid);
    EXPECT_EQ(read->xdp_program, text.xdp_program);
    EXPECT_EQ(read->off, text.off);
  }
}

TEST(LockText, RefusesWhatIsNotOurs) {
  for (const char* text : {"",
                           "\n",
                           "12",
                           "012\n",
                           "0\n",
                           "-1\n",
                           "12 \n",
                           "12 xdp\n",
                           "12 xdp \n",
                           "12 xdp 0\n",
                           "12 xdp 5 \n",
                           "12 xdp 99999999999\n",
                           "99999999999\n",
                           "pid 12\n",
                           "12\n13\n",
                           "12 xdp 5\n\n",
                           "12 off\n",
                           "12 off 5\n",
                           "12 off 5 \n",
                           "12 off 0 rx-gro\n",
                           "12 off 99999999999 rx-gro\n",
                           "12 off 5 rx-gro,\n",
                           "12 off 5 ,rx-gro\n",
                           "12 off 5 rx gro\n",
                           "12 off 5 RX\n",
                           "12 off 5 rx-gro xdp 5\n"})
    EXPECT_FALSE(LockText::parse(text)) << text;
}

TEST(LockFileName, IsOneNameAFile) {
  EXPECT_EQ(lock_file_name("pci-0000:17:00.0"), "pci-0000:17:00.0.lock");
  EXPECT_EQ(lock_file_name("api-/run/a.sock"), "api-%2Frun%2Fa.sock.lock");
  const std::string a = lock_file_name(std::string(300, 'a') + "1");
  EXPECT_NE(a, lock_file_name(std::string(300, 'a') + "2"));
  EXPECT_LT(a.size(), 255u);
}

TEST_F(InstanceLocksTest, ASecondIsToldWhoHasIt) {
  ASSERT_TRUE(locks_->take("netdev-1-eth1", "port wan0 (eth1)"));
  EXPECT_EQ(text("netdev-1-eth1"), std::to_string(getpid()) + "\n");
  const auto other = open();
  const auto refused = other->take("netdev-1-eth1", "port x (eth1)");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "port x (eth1): another hectod (pid " +
                                         std::to_string(getpid()) +
                                         ") has it; stop that one first");
  EXPECT_FALSE(other->holds("netdev-1-eth1"));
  // Another namespace's, or another's name, is another device.
  EXPECT_TRUE(other->take("netdev-2-eth1", "port x (eth1)"));
  locks_->release("netdev-1-eth1");
  EXPECT_TRUE(other->take("netdev-1-eth1", "port x (eth1)"));
}

TEST_F(InstanceLocksTest, TakingOnesOwnAgainIsNoError) {
  ASSERT_TRUE(locks_->take("a", "a"));
  EXPECT_TRUE(locks_->take("a", "a"));
}

TEST_F(InstanceLocksTest, LettingGoRemovesTheFile) {
  ASSERT_TRUE(locks_->take("a", "a"));
  locks_->release("a");
  EXPECT_FALSE(fs::exists(file("a")));
  ASSERT_TRUE(locks_->take("b", "b"));
  locks_.reset();
  EXPECT_FALSE(fs::exists(file("b")));
}

TEST_F(InstanceLocksTest, AFileOfTheDeadIsTakenOver) {
  write("a", std::to_string(dead()) + "\n");
  EXPECT_TRUE(locks_->take("a", "a"));
  EXPECT_EQ(text("a"), std::to_string(getpid()) + "\n");
}

TEST_F(InstanceLocksTest, AFileThatIsNotOursIsLeftAlone) {
  write("a", "somebody's notes\n");
  const auto refused = locks_->take("a", "a");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("not hecto's"), std::string::npos);
  EXPECT_EQ(text("a"), "somebody's notes\n");
  EXPECT_EQ(locks_->sweep(), 0u);
  EXPECT_TRUE(fs::exists(file("a")));
}

TEST_F(InstanceLocksTest, ALinkIsNotFollowed) {
  const std::string target = folder_ + "/target";
  std::ofstream(target) << "x";
  fs::create_symlink(target, file("a"));
  EXPECT_FALSE(locks_->take("a", "a"));
  std::ifstream in(target);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "x");
}

TEST_F(InstanceLocksTest, AFolderThatOthersMayWriteIsRefused) {
  fs::permissions(folder_, fs::perms::all);
  EXPECT_FALSE(InstanceLocks::open(folder_));
}

TEST_F(InstanceLocksTest, SweepsTheDeadAndNobodyElse) {
  ASSERT_TRUE(locks_->take("mine", "mine"));
  write("dead", std::to_string(dead()) + "\n");
  write("living", std::to_string(getppid()) + "\n");  // its lock is free, but the process lives
  write("empty", "");
  std::ofstream(folder_ + "/notes.txt") << dead() << "\n";
  EXPECT_EQ(locks_->sweep(), 1u);
  EXPECT_FALSE(fs::exists(file("dead")));
  for (const char* key : {"mine", "living", "empty"}) EXPECT_TRUE(fs::exists(file(key))) << key;
  EXPECT_TRUE(fs::exists(folder_ + "/notes.txt"));
}

TEST_F(InstanceLocksTest, AProgramOfTheDeadIsRemembered) {
  write("dev", std::to_string(dead()) + " xdp 4294967294\n");
  ASSERT_TRUE(locks_->take("dev", "dev"));
  EXPECT_EQ(locks_->inherited_program("dev"), 4294967294u);
  // A crash before it is taken off does not forget it.
  EXPECT_EQ(text("dev"), std::to_string(getpid()) + " xdp 4294967294\n");
  locks_->note_program("dev", 7);
  EXPECT_EQ(text("dev"), std::to_string(getpid()) + " xdp 7\n");
  EXPECT_EQ(locks_->inherited_program("dev"), 0u);
  locks_->release("dev");  // the program stays behind: so does what tells whose it is
  EXPECT_TRUE(fs::exists(file("dev")));
}

TEST_F(InstanceLocksTest, OneWhoSweepsIsWaitedFor) {
  write("a", std::to_string(dead()) + "\n");
  const int fd = ::open(file("a").c_str(), O_RDWR);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  std::thread sweeper([&] {
    usleep(30'000);
    unlink(file("a").c_str());
    close(fd);
  });
  EXPECT_TRUE(locks_->take("a", "a"));
  sweeper.join();
  EXPECT_TRUE(fs::exists(file("a")));
  EXPECT_FALSE(open()->take("a", "a"));
}

TEST_F(InstanceLocksTest, OfManyAtOnceOneGetsIt) {
  for (int round = 0; round < 20; ++round) {
    write("a", std::to_string(dead()) + "\n");
    std::atomic<int> taken{0};
    std::vector<std::unique_ptr<InstanceLocks>> all(6);
    std::vector<std::thread> threads;
    for (auto& locks : all) {
      locks = open();
      threads.emplace_back([&] {
        taken += locks->take("a", "a").has_value();
        locks->sweep();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(taken, 1);
  }
}

}  // namespace
}  // namespace hecto::router
