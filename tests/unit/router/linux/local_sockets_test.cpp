#include "router/linux/local_sockets.hpp"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "tests/unit/router/linux/test_namespace.hpp"

namespace hecto::router {
namespace {

inet_diag_msg message(uint8_t family, uint8_t state, uint16_t local, uint16_t remote,
                      const char* from, const char* to) {
  inet_diag_msg m{};
  m.idiag_family = family;
  m.idiag_state = state;
  m.id.idiag_sport = htons(local);
  m.id.idiag_dport = htons(remote);
  inet_pton(family, from, m.id.idiag_src);
  inet_pton(family, to, m.id.idiag_dst);
  return m;
}
std::optional<SocketEntry> decoded(const inet_diag_msg& m, uint8_t protocol) {
  return socket_messages::decode({reinterpret_cast<const uint8_t*>(&m), sizeof m}, protocol);
}

TEST(LocalSocketMessages, TellConnectionsAndPorts) {
  const auto established = decoded(message(AF_INET, 1, 179, 40000, "192.0.2.1", "192.0.2.2"), 6);
  ASSERT_TRUE(established);
  EXPECT_EQ(established->state, SocketEntry::State::kConnected);
  EXPECT_EQ(established->local_port, 179);
  EXPECT_EQ(established->remote_port, 40000);
  EXPECT_EQ(established->remote.bytes[3], 2);
  EXPECT_EQ(decoded(message(AF_INET, 2, 1, 179, "192.0.2.1", "192.0.2.2"), 6)->state,
            SocketEntry::State::kOpening);
  EXPECT_EQ(decoded(message(AF_INET6, 10, 22, 0, "::", "::"), 6)->state,
            SocketEntry::State::kListening);
  EXPECT_EQ(decoded(message(AF_INET, 7, 53, 0, "0.0.0.0", "0.0.0.0"), 17)->state,
            SocketEntry::State::kListening);
}

TEST(LocalSocketMessages, Ipv4InASocketOfIpv6IsIpv4) {
  const auto entry =
      decoded(message(AF_INET6, 1, 179, 40000, "::ffff:192.0.2.1", "::ffff:192.0.2.2"), 6);
  ASSERT_TRUE(entry);
  EXPECT_EQ(*entry, *decoded(message(AF_INET, 1, 179, 40000, "192.0.2.1", "192.0.2.2"), 6));
  EXPECT_TRUE(decoded(message(AF_INET6, 1, 1, 2, "fe80::1", "fe80::2"), 6)->remote.v6);
}

TEST(LocalSocketMessages, LeaveOutWhatStrangersMakeAndWhatIsNothing) {
  for (const uint8_t state : {0, 3, 6, 12, 200})  // SYN-RECV, TIME-WAIT, a request
    EXPECT_FALSE(decoded(message(AF_INET, state, 179, 4, "192.0.2.1", "192.0.2.2"), 6));
  EXPECT_FALSE(decoded(message(AF_INET, 7, 40000, 0, "0.0.0.0", "0.0.0.0"), 6));
  EXPECT_FALSE(decoded(message(AF_INET, 7, 0, 0, "0.0.0.0", "0.0.0.0"), 17));
  EXPECT_FALSE(decoded(message(AF_UNIX, 1, 1, 1, "0.0.0.0", "0.0.0.0"), 6));
  const inet_diag_msg whole = message(AF_INET, 1, 1, 2, "192.0.2.1", "192.0.2.2");
  for (size_t bytes = 0; bytes < sizeof whole; ++bytes)
    EXPECT_FALSE(socket_messages::decode({reinterpret_cast<const uint8_t*>(&whole), bytes}, 6));
}

class LocalSocketsTest : public NamespaceTest {
 protected:
  FileDescriptor make(int type, uint16_t port, bool connect_it) {
    FileDescriptor made;
    const auto done = space_->run([&]() -> Result<void> {
      made = FileDescriptor(socket(AF_INET, type | SOCK_CLOEXEC, 0));
      sockaddr_in at{};
      at.sin_family = AF_INET;
      at.sin_port = htons(port);
      at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      auto* name = reinterpret_cast<sockaddr*>(&at);
      const int result =
          connect_it ? connect(made.get(), name, sizeof at) : bind(made.get(), name, sizeof at);
      if (result != 0 || (type == SOCK_STREAM && !connect_it && listen(made.get(), 4) != 0))
        return fail(std::strerror(errno), errno);
      return {};
    });
    EXPECT_TRUE(done) << done.error().message;
    return made;
  }
  static size_t count(const std::vector<SocketEntry>& all, uint8_t protocol,
                      SocketEntry::State state, uint16_t port) {
    size_t n = 0;
    for (const SocketEntry& e : all)
      n += e.protocol == protocol && e.state == state &&
           (e.local_port == port || e.remote_port == port);
    return n;
  }
};

TEST_F(LocalSocketsTest, ListsWhatThereIsAndHearsOfWhatCloses) {
  auto sockets = LocalSockets::open(*space_);
  ASSERT_TRUE(sockets) << sockets.error().message;
  auto none = sockets->read();
  if (!none && none.error().error_number == ENOENT) GTEST_SKIP() << none.error().message;
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_TRUE(none->empty());
  const FileDescriptor server = make(SOCK_STREAM, 179, false);
  const FileDescriptor client = make(SOCK_STREAM, 179, true);
  const FileDescriptor udp = make(SOCK_DGRAM, 3784, false);
  FileDescriptor dns = make(SOCK_DGRAM, 53, true);
  const auto all = sockets->read();
  ASSERT_TRUE(all);
  using State = SocketEntry::State;
  EXPECT_EQ(count(*all, 6, State::kListening, 179), 1u);
  EXPECT_EQ(count(*all, 6, State::kConnected, 179), 2u);  // both ends
  EXPECT_EQ(count(*all, 17, State::kListening, 3784), 1u);
  EXPECT_EQ(count(*all, 17, State::kConnected, 53), 1u);
  EXPECT_FALSE(sockets->some_closed());
  dns.reset();
  const auto left = sockets->read();
  ASSERT_TRUE(left);
  EXPECT_EQ(count(*left, 17, State::kConnected, 53), 0u);
  EXPECT_EQ(left->size() + 1, all->size());
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool heard = false;
  while (!(heard = sockets->some_closed()) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(heard);
}

}  // namespace
}  // namespace hecto::router
