// What hectod asks DPDK for fits into the hugepages that `hecto prepare` and `hecto doctor` count:
// with a page too few it would take ordinary ones.
#include "config/machine/hugepages.hpp"

#include <gtest/gtest.h>

#include "router/control/environment.hpp"
#include "tests/beds/boxes.hpp"

namespace hecto::router {
namespace {

TEST(Hugepages, AreEnoughForEveryPoolThatHectodMakes) {
  const config::MachineFiles none("/nonexistent");
  for (const char* mtu : {"576", "1500", "1751", "3400", "9000"})
    for (const char* more : {"", "spare_mbufs: 1000000\n", "memory: 3GiB\n",
                             "ipsec: {max_sas: 100000}\n", "tables: {ipv4_engine: compact}\n"})
      for (const char* box : {"two_socket_smt.xml", "virtual_machine.xml"}) {
        const config::Config config = config::read(
            fmt::format("ports: {{wan0: {{device: \"0000:17:00.0\", mtu: {0}}}, lan0: {{device: "
                        "\"0000:98:00.0\", mtu: {0}, queues: 1}}, m: {{device: net_null0}}}}\n{1}",
                        mtu, more));
        const auto placement = config::placed(config, config::box(box));
        uint64_t counted = 0;
        for (const auto& need : config::hugepage_needs(config, placement, none))
          counted += need.wanted_bytes;
        const uint64_t asked = eal_options(config, placement).memory_bytes;
        EXPECT_GE(counted, asked) << mtu << " " << more << box;
        EXPECT_LE(counted, asked + asked / 8) << mtu << " " << more << box;
      }
}

TEST(Hugepages, ThatDpdkWillWantAreNotForTables) {
  const config::Config config =
      config::read("ports: {wan0: {device: \"0000:17:00.0\"}, lan0: {device: \"0000:98:00.0\"}}\n");
  const auto placement = config::placed(config, config::box("two_socket_smt.xml"));
  constexpr uint64_t kFree = uint64_t{8} << 30;
  const auto free = [](int socket) { return socket == 0 ? kFree : uint64_t{2} << 20; };
  EXPECT_EQ(spare_hugepages(config, placement, false, free),
            (std::map<int, uint64_t>{{0, kFree}, {1, 2u << 20}}));
  auto spare = spare_hugepages(config, placement, true, free);
  EXPECT_EQ(spare.at(1), 0u) << "it wants more than there is";
  for (const config::SocketMemory& memory : placement.memory) {
    if (memory.socket == 0) {
      EXPECT_LE(spare.at(0) + memory.bytes, kFree);
    }
  }
  EXPECT_GT(spare.at(0), kFree / 2);
}

}  // namespace
}  // namespace hecto::router
