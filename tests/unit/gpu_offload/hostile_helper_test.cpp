// A helper that somebody has taken over: what it may say, send and do, and what it costs the router.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <thread>

#include "gpu_offload/helper/protocol.hpp"
#include "gpu_offload/helper/shared_memory.hpp"
#include "tests/unit/gpu_offload/helper_bed.hpp"

namespace hecto::gpu_offload {
namespace {

// Who cuts off memory that the router has mapped would end it by SIGBUS.
TEST(HostileHelper, CannotChangeTheSizeOfSharedMemory) {
  SharedMemory memory;
  for (const size_t bytes : {size_t{100}, size_t{4} << 20})
    ASSERT_NE(memory.allocate(bytes, -1), nullptr);
  for (const auto& [start, block] : memory.blocks()) {
    const int fd = block.memory.get();
    for (const size_t bytes : {size_t{0}, block.bytes - 4096, block.bytes + 4096}) {
      errno = 0;
      EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), -1) << bytes << " of " << block.bytes;
      EXPECT_EQ(errno, EPERM);
    }
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1) << "nor make it read-only for others";
    static_cast<char*>(start)[block.bytes - 1] = 1;
  }
}

std::map<std::string, std::string> status_of(pid_t process) {
  std::map<std::string, std::string> lines;
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);)
    if (const size_t colon = line.find(":\t"); colon != std::string::npos)
      lines[line.substr(0, colon)] = line.substr(colon + 2);
  return lines;
}

// Of its keeper and of the process with the device, which has served a while.
TEST(HostileHelper, HasNoCapabilitiesButToLockMemory) {
  Fault fault;
  fault.mend();
  auto device = faulty("none", fault);
  ASSERT_EQ(device->restart(), Status::kOk);
  ASSERT_GT(fault.child(), 0);
  const uint64_t allowed = uint64_t{1} << CAP_IPC_LOCK;
  for (const pid_t process : {fault.keeper(), fault.child()}) {
    auto status = status_of(process);
    for (const char* set : {"CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb"}) {
      ASSERT_FALSE(status[set].empty()) << set;
      EXPECT_EQ(std::stoull(status[set], nullptr, 16) & ~allowed, 0u) << set << status[set];
    }
    EXPECT_EQ(status["NoNewPrivs"], "1");
  }
}

TEST(HostileHelper, ThatIsBusyForEverAtItsStartIsNoDevice) {
  Fault fault;
  auto none = HelperDevice::open("busy-at-start:" + fault.file(), {HECTO_FAULTY_HELPER});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().find("busy-at-start"), std::string::npos) << none.error();
}

class TalkingHelper : public ::testing::TestWithParam<const char*> {};

// Control hears a part of what it says each turn, and goes on with its own work.
TEST_P(TalkingHelper, IsHeardNoLongerThanATurn) {
  Fault fault;
  auto device = faulty(GetParam(), fault);
  ASSERT_NE(device, nullptr);
  (void)device->create_arena(64);
  ASSERT_EQ(device->state(), Status::kOk);
  const uint64_t start = steady_ns();
  while (fault.child() == 0 && steady_ns() - start < kPatience) std::this_thread::yield();
  ASSERT_GT(fault.child(), 0) << "all is said";
  EXPECT_EQ(device->state(), Status::kOk) << "the last word is not heard in the first turn";
  EXPECT_EQ(device->state(), Status::kBroken) << "but in the second";
}
INSTANTIATE_TEST_SUITE_P(All, TalkingHelper,
                         ::testing::Values("talks-as-device", "talks-as-keeper"),
                         [](const auto& which) {
                           return std::string(which.param).find("device") == std::string::npos
                                      ? "Keeper"
                                      : "Device";
                         });

size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

// More descriptors than a message has: they stay with the sender.
TEST(HostileHelper, CannotFillTheRoutersDescriptors) {
  Channel mine, its;
  ASSERT_TRUE(Channel::make_pair(mine, its));
  Message message{.say = Say::kUpdated};
  iovec part{&message, sizeof message};
  int two[2] = {its.fd(), its.fd()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof two)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* about = CMSG_FIRSTHDR(&header);
  *about = {CMSG_LEN(sizeof two), SOL_SOCKET, SCM_RIGHTS};
  std::memcpy(CMSG_DATA(about), two, sizeof two);
  const size_t before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(sendmsg(its.fd(), &header, 0), static_cast<ssize_t>(sizeof message));
    FileDescriptor with;
    ASSERT_EQ(mine.receive(message, with), Channel::Got::kMessage);
  }
  EXPECT_EQ(open_descriptors(), before);
}

// Of a device that could not be had.
TEST(HostileHelper, LeavesNoProcessBehindWhereThereIsNoDevice) {
  while (waitpid(-1, nullptr, 0) > 0) continue;  // those of other tests
  Fault fault;
  ASSERT_FALSE(HelperDevice::open("no-driver:" + fault.file(), {HECTO_FAULTY_HELPER}));
  ASSERT_FALSE(HelperDevice::open("host", {"/bin/true"}));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace hecto::gpu_offload
