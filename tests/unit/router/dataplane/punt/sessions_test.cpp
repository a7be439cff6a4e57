#include "router/dataplane/punt/sessions.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>

#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

SocketAddress address(uint32_t number, bool v6) {
  SocketAddress made;
  made.v6 = v6;
  for (unsigned i = 0; i < 4; ++i) made.bytes[i] = static_cast<uint8_t>(number >> (8 * i));
  return made;
}

TEST(PuntSessions, EmptyKnowsNobody) {
  const PuntSessions none;
  EXPECT_FALSE(none.connected(6, address(1, false), 1, address(2, false), 2));
  EXPECT_FALSE(none.known_peer(address(1, false)));
  EXPECT_FALSE(none.listens_tcp(179));
  EXPECT_FALSE(none.open_udp(0));
}

// Against a set, with questions that differ in one field from what is there.
TEST(PuntSessions, AgreesWithANaiveTwin) {
  std::mt19937 random(static_cast<uint32_t>(test_seed()));
  const auto below = [&](uint32_t n) { return static_cast<uint16_t>(random() % n); };
  for (unsigned round = 0; round < 50; ++round) {
    std::vector<SocketEntry> sockets;
    std::set<SocketAddress> peers;
    std::set<SocketEntry> twin;
    for (unsigned i = 0, count = below(400); i < count; ++i) {
      const bool v6 = below(2) == 0;
      SocketEntry entry{
          below(2) == 0 ? uint8_t{6} : uint8_t{17},
          below(2) == 0 ? SocketEntry::State::kConnected : SocketEntry::State::kOpening,
          below(8),
          below(8),
          address(below(8), v6),
          address(below(8), v6)};
      sockets.push_back(entry);
      entry.state = SocketEntry::State::kConnected;
      twin.insert(entry);
      if (below(3) == 0) peers.insert(entry.remote);
    }
    const std::vector<SocketAddress> list(peers.begin(), peers.end());
    const PuntSessions sessions(sockets, list);
    EXPECT_EQ(sessions.connections(), twin.size());
    for (unsigned i = 0; i < 2000; ++i) {
      const bool v6 = below(2) == 0;
      const SocketEntry asked{below(2) == 0 ? uint8_t{6} : uint8_t{17},
                              SocketEntry::State::kConnected,
                              below(8),
                              below(8),
                              address(below(8), v6),
                              address(below(8), v6)};
      ASSERT_EQ(sessions.connected(asked.protocol, asked.local, asked.local_port, asked.remote,
                                   asked.remote_port),
                twin.contains(asked));
      ASSERT_EQ(sessions.known_peer(asked.remote), peers.contains(asked.remote));
    }
  }
}

TEST(PuntSessions, PortsByProtocol) {
  std::vector<SocketEntry> sockets(2);
  sockets[0].protocol = 6;
  sockets[0].local_port = 179;
  sockets[1].protocol = 17;
  sockets[1].local_port = 65535;
  const PuntSessions sessions(sockets, {});
  EXPECT_TRUE(sessions.listens_tcp(179));
  EXPECT_FALSE(sessions.open_udp(179));
  EXPECT_TRUE(sessions.open_udp(65535));
  EXPECT_FALSE(sessions.listens_tcp(65535));
  EXPECT_EQ(sessions.tcp_ports() + sessions.udp_ports(), 2u);
}

TEST(PuntSessions, SaysWhatItLeavesOut) {
  std::vector<SocketEntry> sockets;
  for (uint32_t i = 0; i < PuntSessions::kMostConnections + 5; ++i)
    sockets.push_back(
        {6, SocketEntry::State::kConnected, 1, 1, address(i, false), address(i, false)});
  const PuntSessions sessions(sockets, {});
  EXPECT_EQ(sessions.connections(), PuntSessions::kMostConnections);
  EXPECT_EQ(sessions.left_out(), 5u);
}

}  // namespace
}  // namespace hecto::router::test
