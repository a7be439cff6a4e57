#include "router/linux/netns.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "router/linux/switches.hpp"
#include "tests/unit/router/linux/test_namespace.hpp"

namespace hecto::router {
namespace {

ino_t own_namespace() {
  struct stat own {};
  stat("/proc/thread-self/ns/net", &own);
  return own.st_ino;
}

class Netns : public NamespaceTest {};

TEST_F(Netns, IsSeenByIpNetnsWithLoopbackUp) {
  EXPECT_EQ(std::system(("ip netns list | grep -qw " + name_).c_str()), 0);
  EXPECT_NE(ip("link show lo").find("LOOPBACK,UP"), std::string::npos);
}

TEST_F(Netns, RunsInsideAndLeavesTheCallerOutside) {
  const ino_t before = own_namespace();
  ino_t inside = 0;
  ASSERT_TRUE(space_->run([&]() -> Result<void> {
    inside = own_namespace();
    return {};
  }));
  EXPECT_NE(inside, before);
  EXPECT_EQ(own_namespace(), before);
  struct stat held {};
  ASSERT_EQ(fstat(space_->fd(), &held), 0);
  EXPECT_EQ(inside, held.st_ino);
}

TEST_F(Netns, ReportsErrorsAndExceptionsOfTheTask) {
  const auto failed = space_->run([]() -> Result<void> { return fail("no such luck", 5); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().error_number, 5);
  const auto threw = space_->run([]() -> Result<void> { throw std::runtime_error("thrown"); });
  ASSERT_FALSE(threw);
  EXPECT_EQ(threw.error().message, "thrown");
}

TEST_F(Netns, EnablesForwardingInsideOnly) {
  ASSERT_TRUE(space_->enable_forwarding());
  EXPECT_EQ(space_->sysctl("net/ipv4/ip_forward").value(), "1");
  EXPECT_EQ(space_->sysctl("net/ipv4/conf/default/rp_filter").value(), "0") << "it is new";
  const auto ipv6 = space_->sysctl("net/ipv6/conf/all/forwarding");
  if (ipv6) {
    EXPECT_EQ(*ipv6, "1");
  }
  const auto missing = space_->set_sysctl("net/ipv4/no_such_thing", "1");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().error_number, ENOENT);
}

TEST_F(Netns, TellsWhatTheSwitchesOfAnInterfaceComeTo) {
  const auto set = [&](const std::string& key, const char* value) {
    ASSERT_TRUE(space_->set_sysctl("net/" + key, value)) << key;
  };
  const auto of_lo = [&] { return read_switches(*space_, {"lo"}).value().front().value(); };
  ASSERT_TRUE(space_->enable_forwarding());
  for (const char* where : {"all", "lo"})
    for (const char* key : {"rp_filter", "send_redirects", "accept_local"})
      set(fmt::format("ipv4/conf/{}/{}", where, key), "0");
  InterfaceSwitches wanted;
  wanted.redirects6 = true;
  EXPECT_EQ(of_lo(), wanted);

  set("ipv4/conf/lo/rp_filter", "1");
  EXPECT_EQ(of_lo().rp_filter, UrpfMode::kStrict);
  set("ipv4/conf/all/rp_filter", "2");
  EXPECT_EQ(of_lo().rp_filter, UrpfMode::kLoose) << "the larger number";
  set("ipv4/conf/all/send_redirects", "1");
  EXPECT_TRUE(of_lo().redirects4) << "either";
  set("ipv4/conf/lo/accept_local", "1");
  EXPECT_TRUE(of_lo().accept_local);
  set("ipv4/conf/lo/forwarding", "0");
  EXPECT_FALSE(of_lo().forwards4) << "its own";
  EXPECT_TRUE(of_lo().forwards6);
  set("ipv6/conf/lo/forwarding", "0");
  EXPECT_TRUE(of_lo().forwards6) << "IPv6 asks \"all\"";
  set("ipv6/conf/all/forwarding", "0");
  EXPECT_FALSE(of_lo().forwards6);
  const auto all = read_switches(*space_, {"nowhere", "lo"}).value();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_FALSE(all[0]) << "there is no such interface";
}

// Whatever is missing: known switches, or an error; never switches that are off.
TEST_F(Netns, ASwitchThatCannotBeReadIsNoSwitchThatIsOff) {
  for (const char* key : {"rp_filter", "send_redirects", "accept_local"})
    ASSERT_TRUE(space_->set_sysctl(fmt::format("net/ipv4/conf/lo/{}", key), "1"));
  const auto wanted = read_switches(*space_, {"lo"}).value().front();
  ASSERT_EQ(wanted->rp_filter, UrpfMode::kStrict);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  unsigned failed = 0;
  const int next = dup(0);
  close(next);
  for (rlim_t most = static_cast<rlim_t>(next); most < static_cast<rlim_t>(next) + 8; ++most) {
    const rlimit few{most, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    const auto now = read_switches(*space_, {"lo"});
    setrlimit(RLIMIT_NOFILE, &before);
    failed += !now;
    EXPECT_TRUE(!now || now->front() == wanted) << most;
  }
  EXPECT_GT(failed, 0u);
}

TEST_F(Netns, SaysWhenTheNameIsGoneOrStandsForAnother) {
  EXPECT_TRUE(space_->check());
  ASSERT_TRUE(NetworkNamespace::remove(name_));
  const auto gone = space_->check();
  ASSERT_FALSE(gone);
  EXPECT_NE(gone.error().message.find("was removed while in use"), std::string::npos);
  // A namespace stays whole while it is held.
  EXPECT_TRUE(space_->run([]() -> Result<void> { return {}; }));

  auto other = NetworkNamespace::create(name_, NamespaceLifetime::kRemove);
  ASSERT_TRUE(other);
  const auto another = space_->check();
  ASSERT_FALSE(another);
  EXPECT_NE(another.error().message.find("made anew"), std::string::npos);
  space_.reset();  // must not take the other's name away
  EXPECT_TRUE(other->check());
}

TEST_F(Netns, OpensAnExistingOneAndThenLeavesIt) {
  {
    auto again = NetworkNamespace::open_or_create(name_, NamespaceLifetime::kRemove);
    ASSERT_TRUE(again);
    EXPECT_FALSE(again->created());
  }
  EXPECT_TRUE(space_->check());
  const auto taken = NetworkNamespace::create(name_, NamespaceLifetime::kRemove);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().error_number, EEXIST);
}

TEST_F(Netns, LeftoverFileIsNamedAsSuch) {
  ASSERT_TRUE(NetworkNamespace::remove(name_));
  const std::string path = "/run/netns/" + name_;
  close(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
  const auto opened = NetworkNamespace::open(name_);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("leftover"), std::string::npos);
  EXPECT_TRUE(NetworkNamespace::remove(name_));
}

TEST(NetnsName, RefusesWhatIsNoName) {
  for (const char* name : {"", ".", "..", "a/b"}) {
    const auto opened = NetworkNamespace::open(name);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().error_number, EINVAL) << name;
  }
  const auto missing = NetworkNamespace::open("hecto-test-not-there");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().error_number, ENOENT);
}

}  // namespace
}  // namespace hecto::router
