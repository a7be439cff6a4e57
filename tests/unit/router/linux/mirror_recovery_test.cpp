// Sockets that fail and dumps that never end: the mirror mends itself.
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <set>

#include "router/linux/stale_routes.hpp"
#include "tests/unit/router/linux/test_namespace.hpp"

namespace hecto::router {
namespace {

using std::chrono::milliseconds;

std::set<int> netlink_sockets() {
  std::set<int> found;
  for (int fd = 0; fd < 1024; ++fd) {
    int domain = 0;
    socklen_t bytes = sizeof domain;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_NETLINK)
      found.insert(fd);
  }
  return found;
}

class MirrorRecovery : public NamespaceTest {
 protected:
  MirrorOptions impatient() {
    MirrorOptions options;
    options.reopen = milliseconds(20);
    options.tell = [this](const std::string& line) { told_.push_back(line); };
    return options;
  }
  std::vector<std::string> told_;
};

// Both its sockets become something else: what a bug anywhere in the process can do.
TEST_F(MirrorRecovery, SocketsThatAreGoneAreOpenedAgain) {
  const Tap wan = make_tap("wan0");
  ip("addr add 192.0.2.1/24 dev wan0");
  const std::set<int> before = netlink_sockets();
  start_mirror(impatient());
  for (const int fd : netlink_sockets()) {
    if (before.contains(fd)) continue;
    const int null = ::open("/dev/null", O_RDWR);
    ASSERT_EQ(dup2(null, fd), fd);
    close(null);
  }
  ip("route add 10.0.0.0/8 via 192.0.2.2");  // told to nobody
  // Nothing wakes it: it is called now and then all the same.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!state_.find("10.0.0.0/8") && std::chrono::steady_clock::now() < end) {
    EXPECT_TRUE(mirror_->process(256));
    usleep(5000);
  }
  ASSERT_TRUE(state_.find("10.0.0.0/8"));
  EXPECT_EQ(mirror_->stats().reopened, 1u);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_NE(told_[0].find("opened again in 20 ms"), std::string::npos) << told_[0];
  ASSERT_TRUE(settle());
  ip("route add 11.0.0.0/8 via 192.0.2.2");  // live again
  EXPECT_TRUE(serve_until([&] { return state_.find("11.0.0.0/8") != nullptr; }));
}

// NLMSG_NOOP is a request that the kernel never answers.
class SilentMirror final : public MirrorBase {
 public:
  static std::unique_ptr<SilentMirror> open(const NetworkNamespace& space,
                                            const MirrorOptions& options) {
    auto sockets = sockets_of(space);
    std::unique_ptr<SilentMirror> mirror(
        new SilentMirror(space, options, std::move(sockets.value())));
    EXPECT_TRUE(mirror->watch());
    mirror->request_resync("test");
    return mirror;
  }
  unsigned begun = 0, ended = 0;

 private:
  SilentMirror(const NetworkNamespace& space, const MirrorOptions& options, Sockets&& sockets)
      : MirrorBase(options, std::move(sockets),
                   {{{MessageKind::kOther, NLMSG_NOOP, 0, 0}}, false, false, [&space] {
                      return sockets_of(space);
                    }}) {}
  static Result<Sockets> sockets_of(const NetworkNamespace& space) {
    auto live = NetlinkSocket::open(space);
    auto dump = DumpReader::open(space);
    if (!live || !dump) return fail("no sockets");
    return Sockets{std::move(*live), std::move(*dump)};
  }
  MessageKind kind(const Message&) const noexcept override { return MessageKind::kLink; }
  bool removes(const Message&) const noexcept override { return false; }
  void deliver(const Message&, bool) override {}
  void on_resync_begin(const std::string&) override { ++begun; }
  void on_resync_end() override { ++ended; }
};

TEST_F(MirrorRecovery, ADumpThatNeverEndsIsGivenUpAndBegunAgainLessAndLessOften) {
  MirrorOptions options = impatient();
  options.silence = milliseconds(50);
  const auto mirror = SilentMirror::open(*space_, options);
  const size_t files = netlink_sockets().size();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  // Woken by its own timer alone.
  while (mirror->begun < 5 && std::chrono::steady_clock::now() < end) {
    pollfd descriptor{mirror->fd(), POLLIN, 0};
    (void)poll(&descriptor, 1, 5000);
    ASSERT_TRUE(mirror->process(16));
  }
  EXPECT_EQ(mirror->begun, 5u);
  EXPECT_EQ(mirror->ended, 0u);
  EXPECT_EQ(mirror->stats().reopened, 4u);
  EXPECT_EQ(netlink_sockets().size(), files);
  ASSERT_EQ(told_.size(), 4u);
  EXPECT_NE(told_[0].find("not finished a dump"), std::string::npos) << told_[0];
  EXPECT_NE(told_[0].find("in 20 ms"), std::string::npos) << told_[0];
  EXPECT_NE(told_[3].find("in 160 ms"), std::string::npos) << told_[3];
}

// FRR removes the routes before the objects that they name: nothing is left to read again.
TEST_F(MirrorRecovery, ObjectsThatNoRouteNamesGoWithoutAResync) {
  const Tap wan = make_tap("wan0");
  ip("addr add 192.0.2.1/24 dev wan0");
  for (int id = 1; id <= 50; ++id)
    ip("nexthop add id " + std::to_string(id) + " via 192.0.2.2 dev wan0");
  ip("route add 10.0.0.0/8 nhid 50");
  start_mirror();
  state_.names_object = [](uint32_t id) { return id == 50; };
  const uint64_t resyncs = mirror_->stats().resyncs;
  for (int id = 1; id < 50; ++id) ip("nexthop del id " + std::to_string(id));
  ASSERT_TRUE(settle());
  EXPECT_EQ(mirror_->stats().resyncs, resyncs);
  ip("nexthop del id 50");
  ASSERT_TRUE(settle());
  EXPECT_EQ(mirror_->stats().resyncs, resyncs + 1);
  EXPECT_FALSE(state_.find("10.0.0.0/8"));
}

TEST_F(MirrorRecovery, AStormOfSilentChangesIsReadAgainLessAndLessOften) {
  const Tap wan = make_tap("wan0");
  MirrorOptions options;
  options.debounce = milliseconds(10);
  options.debounce_most = milliseconds(10000);
  start_mirror(options);
  const uint64_t before = mirror_->stats().resyncs;
  for (int i = 0; i < 200; ++i) {
    ip("addr add 192.0.2.1/24 dev wan0");
    ip("addr del 192.0.2.1/24 dev wan0");
    (void)serve_until([] { return true; });
    EXPECT_TRUE(mirror_->process(256));
  }
  // 10, 20, 40, … ms: as many as doublings fit into the time that it took.
  EXPECT_LE(mirror_->stats().resyncs - before, 12u);
}

TEST_F(MirrorRecovery, RoutesOfAnEarlierRunGo) {
  const Tap wan = make_tap("wan0");
  ip("addr add 192.0.2.1/24 dev wan0");
  ip("-6 addr add 2001:db8::1/64 dev wan0 nodad");
  for (const char* route :
       {"blackhole 10.0.0.0/8 proto 100", "unreachable 11.0.0.0/8 proto 100 metric 7",
        "12.0.0.0/8 via 192.0.2.2 proto 100",
        "13.0.0.0/8 proto 100 nexthop via 192.0.2.2 nexthop via 192.0.2.3"})
    ip(std::string("route add ") + route);
  ip("-6 route add 2001:db8:9::/48 proto 100 nexthop via 2001:db8::2 nexthop via 2001:db8::3");
  ip("-6 route add blackhole 2001:db8:a::/48 proto 100");
  ip("route add blackhole 14.0.0.0/8 proto 99");
  ip("route add blackhole 15.0.0.0/8 proto 100 table 77");
  const auto removed = remove_routes_of_protocol(*space_, 100);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_GE(*removed, 7u);
  EXPECT_EQ(ip("route show proto 100"), "");
  EXPECT_EQ(ip("-6 route show proto 100"), "");
  EXPECT_NE(ip("route show proto 99"), "");
  EXPECT_EQ(ip("route show table 77"), "") << "the file may name tables";
  const auto again = remove_routes_of_protocol(*space_, 100);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, 0u);
}

Route route_to(const char* prefix, const Tap& by, std::vector<const char*> gateways) {
  Route route;
  route.prefix = *IpPrefix::parse(prefix);
  for (const char* gateway : gateways) {
    NextHop hop;
    hop.gateway = *IpAddress::parse(gateway);
    hop.ifindex = by.ifindex();
    route.next_hops.push_back(hop);
  }
  return route;
}

TEST_F(MirrorRecovery, RoutesOfAnEarlierRunStayWhereTheyAreAsWanted) {
  const Tap wan = make_tap("wan0");
  ip("addr add 192.0.2.1/24 dev wan0");
  ip("-6 addr add 2001:db8::1/64 dev wan0 nodad");
  for (const char* route :
       {"blackhole 10.0.0.0/8 proto 100", "blackhole 11.0.0.0/8 proto 100",
        "12.0.0.0/8 via 192.0.2.2 proto 100", "13.0.0.0/8 via 192.0.2.2 proto 100",
        "14.0.0.0/8 via 192.0.2.2 proto 100 metric 5",
        "15.0.0.0/8 proto 100 nexthop via 192.0.2.2 nexthop via 192.0.2.3",
        "blackhole 10.0.0.0/8 proto 100 table 1000", "blackhole 10.0.0.0/8 proto 100 table 77"})
    ip(std::string("route add ") + route);
  ip("-6 route add 2001:db8:9::/48 proto 100 nexthop via 2001:db8::2 nexthop via 2001:db8::3");
  ip("-6 route add blackhole 2001:db8:a::/48 proto 100");
  Route hole;
  hole.prefix = *IpPrefix::parse("10.0.0.0/8");
  hole.type = RouteType::kBlackhole;
  Route hole6 = hole, elsewhere = hole;
  elsewhere.table = 1000;
  hole6.prefix = *IpPrefix::parse("2001:db8:a::/48");
  const std::vector<Route> wanted = {
      hole,
      hole6,
      elsewhere,
      route_to("11.0.0.0/8", wan, {"192.0.2.2"}),  // a blackhole there
      route_to("12.0.0.0/8", wan, {"192.0.2.2"}),
      route_to("13.0.0.0/8", wan, {"192.0.2.3"}),  // another gateway
      route_to("14.0.0.0/8", wan, {"192.0.2.2"}),  // another metric
      route_to("15.0.0.0/8", wan, {"192.0.2.3", "192.0.2.2"}),
      route_to("2001:db8:9::/48", wan, {"2001:db8::3", "2001:db8::2"})};
  const auto removed = remove_routes_of_protocol(*space_, 100, wanted);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_NE(ip("route show table 1000"), "");
  EXPECT_EQ(ip("route show table 77"), "");
  EXPECT_EQ(*removed, 4u) << ip("route show proto 100") << ip("-6 route show proto 100");
  for (const char* gone : {"11.0.0.0/8", "13.0.0.0/8", "14.0.0.0/8"})
    EXPECT_EQ(ip(std::string("route show ") + gone), "");
  for (const char* stays : {"10.0.0.0/8", "12.0.0.0/8", "15.0.0.0/8"})
    EXPECT_NE(ip(std::string("route show ") + stays), "");
  EXPECT_NE(ip("-6 route show 2001:db8:9::/48"), "");
  EXPECT_NE(ip("-6 route show 2001:db8:a::/48"), "");
}

}  // namespace
}  // namespace hecto::router
