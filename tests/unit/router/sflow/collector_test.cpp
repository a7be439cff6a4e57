// A collector's socket: what is counted, and that nothing waits.
#include "router/sflow/collector.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace hecto::router::test {
namespace {

using namespace std::chrono_literals;
using Clock = Collector::Clock;

// On loopback, at a port that the kernel chose.
struct Listener {
  explicit Listener(const char* address) {
    const bool ipv6 = std::string_view(address).find(':') != std::string_view::npos;
    socket = FileDescriptor(::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 six{};
    sockaddr_in four{};
    four.sin_family = AF_INET;
    six.sin6_family = AF_INET6;
    ::inet_pton(AF_INET, address, &four.sin_addr);
    ::inet_pton(AF_INET6, address, &six.sin6_addr);
    auto* const name =
        ipv6 ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
    socklen_t length = ipv6 ? sizeof six : sizeof four;
    usable = ::bind(socket.get(), name, length) == 0;
    ::getsockname(socket.get(), name, &length);
    endpoint = {*lookup::IpAddress::parse(address), ntohs(ipv6 ? six.sin6_port : four.sin_port)};
    const timeval patience{5, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  std::string receive() const {
    char bytes[2000];
    const ssize_t got = ::recv(socket.get(), bytes, sizeof bytes, 0);
    return got < 0 ? "nothing" : std::string(bytes, static_cast<size_t>(got));
  }
  FileDescriptor socket;
  config::HttpEndpoint endpoint;
  bool usable = false;
};

std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(Collector, GetsDatagramsByBothFamilies) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    const Listener listener(address);
    if (!listener.usable) continue;  // a box without IPv6
    Collector collector(listener.endpoint, nullptr);
    const auto now = Clock::now();
    collector.send(bytes("first"), now);
    collector.send(bytes("second"), now);
    EXPECT_EQ(listener.receive(), "first");
    EXPECT_EQ(listener.receive(), "second");
    EXPECT_EQ(collector.counts().datagrams, 2u);
    EXPECT_EQ(collector.counts().bytes, 11u);
    EXPECT_EQ(collector.counts().failed + collector.counts().refused, 0u);
    EXPECT_EQ(collector.trouble(now), "");
  }
}

TEST(Collector, ThatRefusesIsToldAndTriedAgain) {
  config::HttpEndpoint endpoint;
  {
    const Listener gone("127.0.0.1");
    endpoint = gone.endpoint;
  }
  Collector collector(endpoint, nullptr);
  const auto now = Clock::now();
  for (int i = 0; i < 10; ++i) collector.send(bytes("x"), now);
  EXPECT_GT(collector.counts().refused, 0u);
  EXPECT_EQ(collector.trouble(now), "nobody listens at collector " + to_string(endpoint));
  EXPECT_EQ(collector.trouble(now + 31s), "") << "an old answer says nothing of now";
  EXPECT_EQ(collector.counts().datagrams + collector.counts().failed, 10u);
}

TEST(Collector, WithoutARouteIsTriedOnceASecond) {
  // A socket of one family cannot reach a broadcast address without asking for it: EACCES, as a
  // firewall answers.
  Collector collector({*lookup::IpAddress::parse("255.255.255.255"), 9}, nullptr);
  const auto now = Clock::now();
  for (int i = 0; i < 5; ++i) collector.send(bytes("x"), now);
  EXPECT_EQ(collector.counts().failed, 5u);
  EXPECT_EQ(collector.counts().datagrams, 0u);
  EXPECT_NE(collector.trouble(now), "");
  collector.send(bytes("x"), now + 2s);
  EXPECT_EQ(collector.counts().failed, 6u);
}

// It answers more than anybody reads: sending goes on.
TEST(Collector, ThatSendsBackIsNotHeard) {
  const Listener listener("127.0.0.1");
  Collector collector(listener.endpoint, nullptr);
  const auto now = Clock::now();
  collector.send(bytes("x"), now);
  sockaddr_in peer{};
  socklen_t length = sizeof peer;
  char byte;
  ASSERT_EQ(
      ::recvfrom(listener.socket.get(), &byte, 1, 0, reinterpret_cast<sockaddr*>(&peer), &length),
      1);
  const std::string rubbish(1400, 'r');
  for (int i = 0; i < 2000; ++i)
    ::sendto(listener.socket.get(), rubbish.data(), rubbish.size(), MSG_DONTWAIT,
             reinterpret_cast<sockaddr*>(&peer), length);
  for (int i = 0; i < 10; ++i) {
    collector.send(bytes("more"), now);
    EXPECT_EQ(listener.receive(), "more");
  }
  EXPECT_EQ(collector.counts().datagrams, 11u);
  EXPECT_EQ(collector.counts().failed + collector.counts().refused, 0u);
}

TEST(Collector, ThatStaysKeepsItsCounts) {
  const Listener one("127.0.0.1"), other("127.0.0.1");
  const auto now = Clock::now();
  std::vector<Collector> all = collectors_of({one.endpoint}, {}, nullptr, "ipfix");
  all[0].send(bytes("first"), now);
  all = collectors_of({other.endpoint, one.endpoint}, std::move(all), nullptr, "ipfix");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].counts().datagrams, 0u);
  EXPECT_EQ(all[1].counts().datagrams, 1u);
  EXPECT_TRUE(lines_of(all, now).empty());
  all = collectors_of({other.endpoint}, std::move(all), nullptr, "ipfix");
  EXPECT_EQ(all.size(), 1u);
}

}  // namespace
}  // namespace hecto::router::test
