#include "router/dataplane/ports/port.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/mempool.hpp"
#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

std::unique_ptr<Port> started(const std::string& device, rte_mempool* mempool,
                              bool nic_crypto = false) {
  config::PortConfig config;
  config.name = "p0";
  config.device = device;
  config.kind = config::DeviceKind::kVdev;
  auto port = Port::probe(config);
  if (!port) throw std::runtime_error(port.error().message);
  PortSetup setup;
  setup.pool = mempool;
  setup.data_room_bytes = rte_pktmbuf_data_room_size(mempool);
  setup.nic_crypto = nic_crypto;
  for (const auto& done : {(*port)->configure(setup), (*port)->start()})
    if (!done) throw std::runtime_error(done.error().message);
  return std::move(*port);
}

// What the driver counts of each queue; none where it has counted nothing, as those do that cannot.
TEST(Port, TellsItsQueuesApart) {
  const auto port = started("net_ring_queues0", pool());
  EXPECT_TRUE(port->statistics().queues.empty());
  rte_mbuf* frame = packet(ipv4_frame());
  ASSERT_EQ(rte_eth_tx_burst(port->id(), 0, &frame, 1), 1);
  rte_mbuf* back = nullptr;
  ASSERT_EQ(rte_eth_rx_burst(port->id(), 0, &back, 1), 1);
  rte_pktmbuf_free(back);
  const auto queues = port->statistics().queues;
  ASSERT_EQ(queues.size(), 1u);
  EXPECT_EQ(queues[0].rx_packets, 1u);
  EXPECT_EQ(queues[0].tx_packets, 1u);
}

// What the driver does not give stands in one sentence each, with what is done in its place.
TEST(Port, TellsEachOffloadThatItsDriverDoesNotGive) {
  const auto port = started("net_ring_told0", pool(), true);
  const auto& given = port->given();
  std::vector<std::string> missing;
  for (const std::string& what : port->asked())
    if (std::find(given.begin(), given.end(), what) == given.end())
      missing.push_back(what + ": the driver net_ring does not give it; ");
  EXPECT_GE(missing.size(), 2u);  // rx_esp, tx_esp: no driver in memory has them
  for (const std::string& beginning : missing)
    EXPECT_EQ(std::count_if(port->refused().begin(), port->refused().end(),
                            [&](const std::string& told) { return told.starts_with(beginning); }),
              1)
        << beginning;
}

// A capture of `frames` equal frames, as libpcap writes it.
std::string capture_of(unsigned frames) {
  const std::string path = testing::TempDir() + "hecto-port.pcap";
  const Frame frame = ipv4_frame();
  const auto bytes = static_cast<uint32_t>(frame.size());
  std::ofstream file(path, std::ios::binary);
  const auto put = [&](const auto& words) {
    file.write(reinterpret_cast<const char*>(words.data()), sizeof words);
  };
  put(std::array<uint32_t, 6>{0xa1b2c3d4, 0x00040002, 0, 0, 65535, 1});
  for (unsigned i = 0; i < frames; ++i) {
    put(std::array<uint32_t, 4>{i, 0, bytes, bytes});
    file.write(reinterpret_cast<const char*>(frame.data()), bytes);
  }
  return path;
}

// What a port receives while its pool is empty is lost and counted; behind it packets come again.
TEST(Port, AnEmptyPoolIsCountedAndTheNextPacketsCome) {
  pool();  // DPDK
  const std::string file = capture_of(20);
  auto mempool = Mempool::create("receive", 0, 63, 2176);
  ASSERT_TRUE(mempool) << mempool.error().message;
  auto port = started("net_pcap_told0,rx_pcap=" + file, (*mempool)->get());
  std::vector<rte_mbuf*> all;
  while (rte_mbuf* mbuf = rte_pktmbuf_alloc((*mempool)->get())) all.push_back(mbuf);
  rte_mbuf* received[32];
  EXPECT_EQ(rte_eth_rx_burst(port->id(), 0, received, 32), 0);
  EXPECT_EQ(port->statistics().no_mbuf, 1u);
  rte_pktmbuf_free_bulk(all.data(), static_cast<unsigned>(all.size()));
  const uint16_t count = rte_eth_rx_burst(port->id(), 0, received, 32);
  EXPECT_EQ(count, 19);
  EXPECT_EQ(port->statistics().no_mbuf, 1u);
  rte_pktmbuf_free_bulk(received, count);
  port.reset();
  EXPECT_EQ((*mempool)->in_use(), 0u);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace hecto::router::test
