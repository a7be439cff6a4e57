// Devices between the generator's ports, in memory: those that route, and those that do not.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "bench/generate/report.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "tests/unit/bench/traffic/loop_bed.hpp"

namespace hecto::bench {
namespace {

// Takes what port a has sent, does something to it, and sends it to another port, or back.
class Device {
 public:
  using Work = std::function<void(uint8_t* frame, rte_mbuf& packet)>;
  Device(uint16_t to, Work work)
      : to_(to), work_(std::move(work)), callback_(rte_eth_add_rx_callback(0, 0, pass, this)) {}
  ~Device() { rte_eth_remove_rx_callback(0, 0, callback_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

 private:
  static uint16_t pass(uint16_t, uint16_t, rte_mbuf** packets, uint16_t count, uint16_t,
                       void* self) {
    const Device& device = *static_cast<Device*>(self);
    for (uint16_t i = 0; i < count; ++i)
      device.work_(rte_pktmbuf_mtod(packets[i], uint8_t*), *packets[i]);
    if (device.to_ == 0) return count;
    const uint16_t sent = rte_eth_tx_burst(device.to_, 0, packets, count);
    for (uint16_t i = sent; i < count; ++i) rte_pktmbuf_free(packets[i]);
    return 0;
  }
  uint16_t to_;
  Work work_;
  const rte_eth_rxtx_callback* callback_;
};

constexpr MacAddress kNextHop = {2, 0, 0, 0, 0, 9};

// TTL, and its part of the checksum (RFC 1624), hop limit, and the MAC address of the next hop.
void route(uint8_t* frame, rte_mbuf&) {
  std::copy(kNextHop.begin(), kNextHop.end(), frame);
  const bool vlan = frame[12] == 0x81;
  uint8_t* ip = frame + (vlan ? 18 : 14);
  if (ip[0] >> 4 == 6) {
    --ip[7];
    return;
  }
  --ip[8];
  const uint32_t sum = (ip[10] << 8 | ip[11]) + 0x100u;
  const uint32_t folded = (sum & 0xffff) + (sum >> 16);
  ip[10] = static_cast<uint8_t>(folded >> 8);
  ip[11] = static_cast<uint8_t>(folded);
}

std::vector<StreamSpec> routed_streams() {
  StreamSpec small = stream("small"), vlan = stream("vlan"),
             v6 = stream("v6", lookup::Family::kIpv6), mixed = stream("mixed");
  vlan.vlan = 42;
  mixed.sizes = *parse_sizes("imix");
  std::vector<StreamSpec> streams = {small, vlan, v6, mixed};
  for (StreamSpec& each : streams) {
    each.to = "b";
    each.flows = 100;
    each.expect = {};
    each.expect.destination_mac = kNextHop;
  }
  return streams;
}

TEST_F(TrafficLoop, TellsARouterFromAWire) {
  const TrialRequest request{.pps = 100e3, .seconds = 0.03, .settle_seconds = 1};
  const auto nothing = [](uint8_t*, rte_mbuf&) {};
  {
    const Device router(1, route);
    const TrialResult result = run(routed_streams(), request);
    EXPECT_GT(result.received, 0u);
    for (const StreamResult& s : result.streams) EXPECT_EQ(s.received, s.sent) << s.name;
    EXPECT_EQ(result.wrong.text(), "");
    EXPECT_TRUE(generator().unchecked().empty());
  }
  struct Case {
    Verdict verdict;
    uint16_t to;
    Device::Work work;
  };
  const Case cases[] = {
      {Verdict::kUnchanged, 1, nothing},
      {Verdict::kReflected, 0, nothing},
      {Verdict::kMisrouted, 2, route},
      {Verdict::kReflected, 0, route},
      {Verdict::kDestinationMac, 1,
       [](uint8_t* frame, rte_mbuf& packet) { route(frame, packet), frame[5] = 1; }},
      {Verdict::kPadded, 1,
       [](uint8_t* frame, rte_mbuf& packet) {
         route(frame, packet), rte_pktmbuf_append(&packet, 8);
       }},
  };
  for (const Case& each : cases) {
    const Device device(each.to, each.work);
    const TrialResult result = run(routed_streams(), request);
    EXPECT_EQ(result.received, 0u) << to_string(each.verdict);
    EXPECT_EQ(result.lost(), result.sent) << to_string(each.verdict);
    EXPECT_EQ(result.wrong[each.verdict], result.sent) << result.wrong.text();
    EXPECT_EQ(result.wrong.total(), result.sent) << result.wrong.text();
    EXPECT_EQ(result.foreign, 0u);
    EXPECT_NE(trial_table(result).find(std::string("packets came back ") + to_string(each.verdict)),
              std::string::npos);
    EXPECT_EQ(to_json(result)["wrong"][to_string(each.verdict)], result.sent);
  }
}

// What is wrong is lost, and disturbs neither order nor count of what is right.
TEST_F(TrafficLoop, AFewWrongPacketsAreTheOnlyOnesLost) {
  unsigned count = 0, cut = 0, broken = 0;
  const Device device(1, [&](uint8_t* frame, rte_mbuf& packet) {
    route(frame, packet);
    if (++count % 10 == 3) {
      rte_pktmbuf_trim(&packet, 1);
      ++cut;
    } else if (count % 10 == 7) {
      frame[59] ^= 0x10;  // what lies further back in the buffer would be sent again
      ++broken;
    }
  });
  StreamSpec mixed = routed_streams()[3];
  const TrialResult result = run({mixed}, {.pps = 100e3, .seconds = 0.05, .settle_seconds = 1});
  ASSERT_GT(cut, 0u);
  EXPECT_EQ(result.wrong[Verdict::kTruncated], cut);
  EXPECT_EQ(result.wrong[Verdict::kCorrupted], broken);
  EXPECT_EQ(result.wrong.total(), cut + broken);
  EXPECT_EQ(result.lost(), cut + broken);
  EXPECT_EQ(result.streams[0].duplicated + result.streams[0].reordered, 0u);
}

TEST_F(TrafficLoop, SaysWhatItCannotCheck) {
  StreamSpec one = stream("one"), other = stream("other");
  one.expect.wire = other.expect.wire = false;
  other.family = lookup::Family::kIpv6;
  other.to = "b";
  ASSERT_TRUE(generator().use({one, other}));
  EXPECT_EQ(generator().unchecked(),
            (std::vector<std::string>{
                "one: egress port not checked: sent and awaited at one port; give from and to",
                "other: destination MAC not checked: port `to` has no address that a router would "
                "ask for; give it addresses, or expect: {destination_mac: MAC}"}));
  ASSERT_TRUE(generator().use({stream("wire")}));
  EXPECT_TRUE(generator().unchecked().empty());
}

}  // namespace
}  // namespace hecto::bench
