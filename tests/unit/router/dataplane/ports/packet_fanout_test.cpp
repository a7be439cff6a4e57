// The calls of net_af_packet that this program answers itself.
#include "router/dataplane/ports/packet_fanout.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

namespace hecto::router::test {
namespace {

class FullSocket : public testing::Test {
 protected:
  FullSocket() {
    EXPECT_TRUE(fragments_stay_apart());
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_), 0);
    const char bytes[4096] = {};
    while (write(ends_[0], bytes, sizeof bytes) > 0) {
    }
  }
  ~FullSocket() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  int ends_[2];
};

TEST_F(FullSocket, AWaitForRoomWithoutEndEnds) {
  pollfd full{ends_[0], POLLOUT, 0};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(poll(&full, 1, -1), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(10));
}

TEST_F(FullSocket, OtherWaitsAreTheKernels) {
  pollfd full{ends_[0], POLLOUT, 0}, readable{ends_[1], POLLIN, 0};
  EXPECT_EQ(poll(&full, 1, 3), 0);
  EXPECT_EQ(poll(&readable, 1, -1), 1);
  EXPECT_EQ(readable.revents, POLLIN);
  char bytes[65536];
  while (read(ends_[1], bytes, sizeof bytes) > 0) {
  }
  EXPECT_EQ(poll(&full, 1, -1), 1);
  EXPECT_EQ(full.revents, POLLOUT);
}

}  // namespace
}  // namespace hecto::router::test
