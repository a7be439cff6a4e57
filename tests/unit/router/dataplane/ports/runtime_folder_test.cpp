#include "router/dataplane/ports/runtime_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "router/dataplane/ports/bpf_files.hpp"

namespace hecto::router {
namespace {

namespace fs = std::filesystem;

int dead_process() {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, nullptr, 0);
  return pid;
}

class RuntimeFolderTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(parent_); }
  void TearDown() override { fs::remove_all(parent_); }
  const std::string parent_ = testing::TempDir() + "hecto-dpdk-" + std::to_string(getpid());
};

TEST_F(RuntimeFolderTest, GoesWithAllThatIsInIt) {
  std::string path;
  {
    const RuntimeFolder folder(RuntimeFolder::prefix_of(getpid()), parent_);
    path = folder.path();
    std::ofstream(path + "/config") << "x";
    EXPECT_EQ(folder.sweep(), 0u);
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(RuntimeFolderTest, SweepsTheDeadOfOursAlone) {
  const std::string dead = std::to_string(dead_process());
  const std::string living = "hecto-" + std::to_string(getppid());
  for (const std::string& name :
       {"hecto-" + dead, "rte-" + dead, "hecto-" + dead + "x", std::string("hecto-"), living}) {
    fs::create_directories(parent_ + "/" + name);
    std::ofstream(parent_ + "/" + name + "/config") << "x";
  }
  EXPECT_EQ(RuntimeFolder::sweep(parent_), 1u);
  EXPECT_FALSE(fs::exists(parent_ + "/hecto-" + dead));
  for (const std::string& name :
       {"rte-" + dead, "hecto-" + dead + "x", std::string("hecto-"), living})
    EXPECT_TRUE(fs::exists(parent_ + "/" + name + "/config")) << name;
}

// The number is of a dead one, or of one in another PID namespace: the lock tells.
TEST_F(RuntimeFolderTest, ALockThatIsHeldKeepsItsFolder) {
  const RuntimeFolder held(RuntimeFolder::prefix_of(dead_process()), parent_);
  EXPECT_EQ(RuntimeFolder::sweep(parent_), 0u);
  EXPECT_TRUE(fs::exists(held.path()));
}

TEST_F(RuntimeFolderTest, ALinkIsNotFollowed) {
  const std::string target = testing::TempDir() + "hecto-dpdk-target";
  fs::create_directories(target);
  std::ofstream(target + "/file") << "x";
  fs::create_directories(parent_);
  fs::create_directory_symlink(target, parent_ + "/" + RuntimeFolder::prefix_of(dead_process()));
  EXPECT_EQ(RuntimeFolder::sweep(parent_), 0u);
  EXPECT_TRUE(fs::exists(target + "/file"));
  fs::remove_all(target);
}

TEST(BpfFiles, ClosesWhatIsStillTheSame) {
  const std::vector<BpfFile> before = bpf_files();
  EXPECT_TRUE(bpf_files_since(before, bpf_files()).empty());
  // A number that is another file's by now is left alone.
  const int fd = dup(STDERR_FILENO);
  EXPECT_EQ(close_bpf_files({{fd, "prog_id:\t1"}}), 0u);
  EXPECT_EQ(close(fd), 0);
  EXPECT_EQ(bpf_files_since({{3, "map_id:\t1"}}, {{3, "map_id:\t2"}, {3, "map_id:\t1"}}).size(),
            1u);
}

}  // namespace
}  // namespace hecto::router
