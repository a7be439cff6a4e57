// Who is a known peer of the router's routing protocols, and from when on.
#include <gtest/gtest.h>

#include "router/control/punt_control.hpp"

namespace hecto::router::test {
namespace {

constexpr KnownPeers::Seconds kStart = 10'000;

SocketAddress peer(uint8_t number) {
  return {false, {192, 0, 2, number}};
}
SocketEntry session(uint8_t number, uint16_t local_port, uint16_t remote_port,
                    SocketEntry::State state = SocketEntry::State::kConnected) {
  return {6, state, local_port, remote_port, peer(1), peer(number)};
}
using Peers = std::vector<SocketAddress>;

TEST(KnownPeers, WhomWeCallIsKnownAtOnce) {
  KnownPeers peers;
  peers.follow({session(2, 40000, 179, SocketEntry::State::kOpening)}, kStart);
  EXPECT_EQ(peers.all({}), Peers{peer(2)});
}

TEST(KnownPeers, WhoCallsIsKnownOnceHeHasStayed) {
  KnownPeers peers;
  const std::vector<SocketEntry> sockets = {session(2, 179, 40000)};
  peers.follow(sockets, kStart);
  EXPECT_EQ(peers.all({}), Peers{});
  // It was closed and came again: no proof.
  peers.follow({}, kStart + 1);
  peers.follow(sockets, kStart + 10);
  EXPECT_EQ(peers.all({}), Peers{});
  for (unsigned s = 11; s <= 15; ++s) peers.follow(sockets, kStart + s);
  EXPECT_EQ(peers.all({}), Peers{peer(2)});
}

TEST(KnownPeers, AreRememberedForAnHour) {
  KnownPeers peers;
  peers.follow({session(2, 40000, 179)}, kStart);
  peers.follow({}, kStart + KnownPeers::kMemory_s);
  EXPECT_EQ(peers.all({}), Peers{peer(2)});
  peers.follow({}, kStart + KnownPeers::kMemory_s + 1);
  EXPECT_EQ(peers.all({}), Peers{});
}

TEST(KnownPeers, OtherConnectionsMakeNone) {
  KnownPeers peers;
  SocketEntry udp = session(3, 179, 179);
  udp.protocol = 17;
  SocketEntry listens = session(4, 179, 0, SocketEntry::State::kListening);
  for (unsigned s = 0; s < 20; ++s) peers.follow({session(2, 22, 40000), udp, listens}, kStart + s);
  EXPECT_EQ(peers.all({}), Peers{});
}

TEST(KnownPeers, ThoseOfTheFileAreKnownAlways) {
  const KnownPeers peers;
  const auto written = *lookup::IpAddress::parse("192.0.2.7");
  EXPECT_EQ(peers.all({written, written}), Peers{peer(7)});
}

}  // namespace
}  // namespace hecto::router::test
