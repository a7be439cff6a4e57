#include "router/dataplane/ports/port.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "router/dataplane/core/dpdk.hpp"
#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

// What the driver does not give stands in one sentence each, with what is done in its place.
TEST(Port, TellsEachOffloadThatItsDriverDoesNotGive) {
  config::PortConfig config;
  config.name = "p0";
  config.device = "net_ring_told0";
  config.kind = config::DeviceKind::kVdev;
  rte_mempool* mempool = pool();  // DPDK
  auto port = Port::probe(config);
  ASSERT_TRUE(port) << port.error().message;
  PortSetup setup;
  setup.rx_queues = setup.tx_queues = 1;
  setup.pool = mempool;
  setup.data_room_bytes = rte_pktmbuf_data_room_size(mempool);
  setup.nic_crypto = true;
  ASSERT_TRUE((*port)->configure(setup));
  ASSERT_TRUE((*port)->start());

  const auto& given = (*port)->given();
  std::vector<std::string> missing;
  for (const std::string& what : (*port)->asked())
    if (std::find(given.begin(), given.end(), what) == given.end())
      missing.push_back(what + ": the driver net_ring does not give it; ");
  EXPECT_GE(missing.size(), 2u);  // rx_esp, tx_esp: no driver in memory has them
  for (const std::string& beginning : missing)
    EXPECT_EQ(std::count_if((*port)->refused().begin(), (*port)->refused().end(),
                            [&](const std::string& told) { return told.starts_with(beginning); }),
              1)
        << beginning;
}

}  // namespace
}  // namespace hecto::router::test
