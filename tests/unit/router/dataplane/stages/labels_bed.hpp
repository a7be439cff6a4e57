// A gateway that forwards MPLS: left's, of whose ports 0 leads to its host and 1 to the right.
#pragma once

#include "tests/unit/router/dataplane/stages/policy_routing_bed.hpp"

namespace hecto::router::test {

inline constexpr InterfaceId kRedId = 2;
inline constexpr uint32_t kRedTable = 10;

struct Entry {
  uint32_t label = 0;
  uint8_t ttl = 64;
  bool bottom = false;
  bool operator==(const Entry&) const = default;
};

class LabelsBed : public PolicyRoutingTest {
 protected:
  void SetUp() override {
    PolicyRoutingTest::SetUp();
    Snapshot& snapshot = left_.snapshot();
    snapshot.features = kFeatureVlan | kFeatureCounters;
    snapshot.label_flag = uint64_t{1} << 40;
    for (PortId port = 0; port < 2; ++port) {
      snapshot.ports[port].labels = true;
      snapshot.ports[port].features = snapshot.features;
      snapshot.interfaces[port].labels = snapshot.interfaces[port].counters = true;
    }
  }
  static NextHop by_right(std::initializer_list<uint32_t> labels, std::optional<uint8_t> ttl = {}) {
    NextHop hop;
    hop.gateway = IpAddress::parse("192.0.2.2");
    hop.interface = 1;
    for (const uint32_t label : labels) hop.labels.labels[hop.labels.count++] = label;
    hop.labels.ttl = ttl;
    return hop;
  }
  void label(uint32_t number, std::vector<NextHop> hops) {
    left_.routing().label_route({number, 186, std::move(hops), ""}, false);
    left_.routing().commit();
  }
  void push(const char* to, const NextHop& hop) {
    Route made;
    made.prefix = *IpPrefix::parse(to);
    made.origin = RouteOrigin::kFile;
    made.next_hops = {hop};
    if (made.prefix.address.family == Family::kIpv6)
      made.next_hops[0].gateway = IpAddress::parse("2001:db8::2");
    ASSERT_TRUE(left_.routing().add(made));
    left_.routing().commit();
  }
  // A VRF that labels lead into, with a way back to left's host.
  void make_red() {
    LinuxLink link;
    link.ifindex = 50;
    link.name = "red";
    link.kind = "vrf";
    link.vrf_table = kRedTable;
    link.mtu = 65535;
    link.up = link.carrier = true;
    left_.routing().link(link, false);
    InterfaceState red;
    red.id = kRedId;
    red.name = "red";
    red.port = kNoPort;
    red.ifindex = 50;
    red.vrf_device = true;
    ASSERT_TRUE(left_.routing().add_interface(red));
    InterfaceView& view = left_.snapshot().interfaces[kRedId];
    view.up = view.counters = true;
    vrf_members_ = {{kRedId, "red", kRedTable}};
    rules({of_members()});
  }
  static NextHop into(int ifindex, std::optional<uint8_t> ttl = {}) {
    NextHop hop;
    hop.ifindex = ifindex;
    hop.labels.ttl = ttl;
    return hop;
  }

  // Labels between a frame's L2 header and what is behind it.
  static Frame labelled(Frame frame, const std::vector<Entry>& stack, size_t l2 = kEthernetBytes) {
    std::vector<uint8_t> bytes;
    for (const Entry& each : stack) {
      uint8_t entry[4];
      store32_be(entry, each.label << 12 | uint32_t{each.bottom} << 8 | each.ttl);
      bytes.insert(bytes.end(), entry, entry + 4);
    }
    std::memcpy(&frame[l2 - 2], &kEtherMpls, 2);
    frame.insert(frame.begin() + static_cast<long>(l2), bytes.begin(), bytes.end());
    return frame;
  }
  static std::vector<Entry> stack_of(const Frame& frame, size_t l2 = kEthernetBytes) {
    std::vector<Entry> stack;
    if (frame.size() < l2 || load16_native(&frame[l2 - 2]) != kEtherMpls) return stack;
    for (size_t at = l2; at + 4 <= frame.size(); at += 4) {
      const uint32_t entry = load32_be(&frame[at]);
      stack.push_back({entry >> 12, static_cast<uint8_t>(entry), (entry & 0x100) != 0});
      if (stack.back().bottom) break;
    }
    return stack;
  }
  static Frame from_host4(const char* to, uint8_t ttl = 64, uint16_t payload = 100) {
    FrameOptions options = from_host("10.1.0.1", to, payload);
    options.ttl = ttl;
    return ipv4_frame(options);
  }
  static Frame from_host6(const char* to, uint8_t ttl = 64) {
    FrameOptions options = from_host("fd00:1::1", to);
    options.ttl = ttl;
    return ipv6_frame(options);
  }
  std::vector<Frame> frames(PortId port) {
    std::vector<Frame> out;
    for (rte_mbuf* each : left_.sent(port)) {
      out.push_back(bytes_of(each));
      rte_pktmbuf_free(each);
    }
    return out;
  }
  // What left by port 1 of one frame that came in by port 0; empty: nothing.
  Frame through(const Frame& frame, PortId in = 0, PortId out = 1) {
    left_.run({packet(frame)}, in);
    const std::vector<Frame> all = frames(out);
    EXPECT_LE(all.size(), 1u);
    return all.empty() ? Frame{} : all[0];
  }
  std::vector<Reason> refused(const Frame& frame) {
    EXPECT_TRUE(through(frame).empty());
    return left_.refused();
  }
  const InterfaceCounters& counters(InterfaceId id) {
    return left_.pipeline().counters().interfaces[id];
  }
};

}  // namespace hecto::router::test
