// What the kernel does to packets of an interface, on a veth in a namespace of its own.
#include "router/dataplane/ports/interface_features.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace hecto::router {
namespace {

// `work` in a fresh network namespace with veths x0 and x1; false: nobody may make one here.
template <typename Work>
bool in_namespace(Work work) {
  bool made = false;
  std::thread thread([&] {
    if (unshare(CLONE_NEWNET) != 0) return;
    made = std::system("ip link add x0 type veth peer name x1 2>/dev/null") == 0;
    if (made) work();
  });
  thread.join();
  return made;
}

TEST(InterfaceFeatures, TurnsOffWhatIsOnAndNothingElse) {
  const bool made = in_namespace([] {
    const auto on = [] {
      const auto read = InterfaceFeatures::read("x0");
      return read ? read->on(receive_offloads()) : std::vector<std::string>{"unread"};
    };
    const auto others = [] {
      const auto read = InterfaceFeatures::read("x0");
      return read->on({"tx-checksum-ip-generic", "tx-generic-segmentation"});
    };
    ASSERT_TRUE(InterfaceFeatures::read("x0")->set({"rx-gro"}, true));
    const std::vector<std::string> begun = on();  // a veth may take off VLAN tags, too
    EXPECT_NE(std::find(begun.begin(), begun.end(), "rx-gro"), begun.end());
    const auto before = others();
    EXPECT_EQ(turn_off_receive_offloads("x0"), std::vector<std::string>{});
    EXPECT_EQ(on(), std::vector<std::string>{});
    EXPECT_EQ(others(), before);
    EXPECT_EQ(turn_off_receive_offloads("x0"), std::vector<std::string>{}) << "twice";
    ASSERT_TRUE(InterfaceFeatures::read("x0")->set({"rx-gro", "rx-lro", "no-such-thing"}, true))
        << "what it has not is passed over";
    EXPECT_EQ(on(), std::vector<std::string>{"rx-gro"});
  });
  if (!made) GTEST_SKIP() << "no namespace, or no veth";
}

TEST(InterfaceFeatures, SaysThatThereIsNoSuchInterface) {
  EXPECT_FALSE(InterfaceFeatures::read("no-such-dev"));
  const auto sentences = turn_off_receive_offloads("no-such-dev");
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_NE(sentences[0].find("cannot be seen"), std::string::npos);
}

}  // namespace
}  // namespace hecto::router
