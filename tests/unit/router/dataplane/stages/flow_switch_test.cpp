#include "router/dataplane/stages/flow_switch.hpp"

#include <gtest/gtest.h>

#include "config/file/flow_words.hpp"
#include "router/dataplane/flow/flow_compile.hpp"
#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

constexpr MacAddress kNext = {0x02, 0, 0, 0, 0, 0x99};
constexpr MacAddress kOut = {0x02, 0, 0, 0, 0, 0x77};
const std::string kBySource = "from 198.51.100.2 ";

// Interface 0, a0, has the table on; packets leave by b0: port 7, interface 1. b1 is VLAN 100 of it,
// interface 2; c0, interface 3, has it off.
class FlowSwitchTest : public testing::Test {
 protected:
  FlowSwitchTest() {
    (void)pool();
    FlowSeed seed = random_flow_seed();
    view_->tables =
        *FlowTables::create({64, 2, 0, seed}, lookup::Memory::system(), lookup::Reclaimer::none());
    view_->tables->set_now(5);
    view_->mark = *register_filter_mark();
    view_->on.set(0);
    view_->places[0] = 1;
    view_->outputs.resize(5);
    view_->outputs[2] = output(1, 0);
    view_->outputs[3] = output(2, 100);
    snapshot_.flows = view_;
    for (unsigned i = 0; i < 4; ++i) snapshot_.interfaces[i].up = true;
    snapshot_.interfaces[2].counters = true;
  }
  ~FlowSwitchTest() override {
    for (rte_mbuf* packet : packets_) rte_pktmbuf_free(packet);
  }

  static FlowOutput output(InterfaceId interface, uint16_t vlan) {
    FlowOutput out;
    out.present = true;
    out.port = 7;
    out.interface = interface;
    out.mtu = 1500;
    std::memcpy(out.header + 6, kOut.data(), 6);
    if (vlan != 0) {
      out.header_length = 18;
      std::memcpy(out.header + 12, &kEtherVlan, 2);
      store16_be(out.header + 14, vlan);
    }
    return out;
  }
  void set(const std::string& words) {
    const auto flow = config::parse_flow(words);
    ASSERT_TRUE(flow) << flow.error();
    const auto order = compile_flow(*flow, [](const std::string& name) -> Result<FlowPlace> {
      return FlowPlace(name == "a0" ? 1 : name == "b0" ? 2 : name == "b1" ? 3 : 4);
    });
    ASSERT_TRUE(order);
    const std::array<FlowOrder, 1> one{*order};
    ASSERT_TRUE(view_->tables->set(one));
  }
  void miss(const std::string& words) {
    const auto flow = config::parse_flow("family ipv4 " + words);
    view_->miss = compile_flow(*flow, [](const std::string&) -> Result<FlowPlace> {
                    return FlowPlace(2);
                  })->action;
  }
  // What it is after run().
  struct Outcome {
    bool stays = false;
    Reason reason = Reason::kNone;
    Frame sent;  // by port 7
  };
  std::vector<Outcome> run(const std::vector<Frame>& frames,
                           const std::vector<InterfaceId>& interfaces = {}) {
    const bool v4 = frames[0][kIp - 2] == 0x08 || frames[0][kIp + 2] == 0x08;
    const size_t first = packets_.size();
    chunk_->v4.count = chunk_->v6.count = chunk_->refused_count = 0;
    const auto fill = [&](auto& lane, unsigned destination) {
      for (size_t i = 0; i < frames.size(); ++i) {
        packets_.push_back(packet(frames[i]));
        const unsigned l2 = frames[i][12] == 0x81 ? 18 : 14;
        lane.packets[i] = packets_.back();
        lane.ingress[i] = {interfaces.empty() ? InterfaceId(0) : interfaces[i], l2};
        if constexpr (sizeof lane.destinations[0] == 4)
          lane.destinations[i] = load32_be(frames[i].data() + l2 + destination);
        else
          std::memcpy(&lane.destinations[i], frames[i].data() + l2 + destination, 16);
      }
      lane.count = static_cast<unsigned>(frames.size());
    };
    v4 ? fill(chunk_->v4, 16) : fill(chunk_->v6, 24);
    switch_.run(*chunk_, snapshot_, 1, *transmitter_, *interfaces_);
    std::vector<Outcome> out(frames.size());
    unsigned stays = 0;
    const auto sent = transmitter_->queued(7);
    for (size_t i = 0; i < frames.size(); ++i) {
      rte_mbuf* const mine = packets_[first + i];
      const auto stay = [&](const auto& lane) {
        return stays < lane.count && lane.packets[stays] == mine;
      };
      if (v4 ? stay(chunk_->v4) : stay(chunk_->v6)) {
        out[i].stays = true;
        if (v4) {
          EXPECT_EQ(chunk_->v4.destinations[stays], load32_be(bytes_of(mine).data() + kIp + 16));
        }
        ++stays;
      }
      for (unsigned r = 0; r < chunk_->refused_count; ++r)
        if (chunk_->refused[r].packet == mine) out[i].reason = chunk_->refused[r].reason;
      if (std::find(sent.begin(), sent.end(), mine) != sent.end()) out[i].sent = bytes_of(mine);
    }
    EXPECT_EQ(stays, v4 ? chunk_->v4.count : chunk_->v6.count) << "in their order";
    transmitter_->forget(7);
    return out;
  }
  FlowCount count(const std::string& words) {
    const auto flow = config::parse_flow(words, false);
    const auto order =
        compile_flow(*flow, [](const std::string&) -> Result<FlowPlace> { return FlowPlace(1); });
    return view_->tables->count(*view_->tables->find(*order));
  }

  std::shared_ptr<FlowView> view_ = std::make_shared<FlowView>();
  std::unique_ptr<Chunk> chunk_ = std::make_unique<Chunk>();
  std::unique_ptr<std::array<PortCounters, kMaxPorts>> ports_ =
      std::make_unique<std::array<PortCounters, kMaxPorts>>();
  std::unique_ptr<ReasonCounters> reasons_ = std::make_unique<ReasonCounters>();
  std::unique_ptr<std::array<InterfaceCounters, kMaxInterfaces>> interfaces_ =
      std::make_unique<std::array<InterfaceCounters, kMaxInterfaces>>();
  std::unique_ptr<Transmitter> transmitter_ = std::make_unique<Transmitter>(*ports_, *reasons_);
  Snapshot snapshot_;
  FlowSwitch switch_;
  std::vector<rte_mbuf*> packets_;
};

TEST_F(FlowSwitchTest, WithoutAnEntryAPacketGoesOn) {
  EXPECT_TRUE(run({ipv4_frame()})[0].stays);
  EXPECT_TRUE(run({ipv6_frame()})[0].stays);
  EXPECT_EQ(view_->tables->misses(), 2u);
  EXPECT_EQ(view_->tables->hits(), 0u);
}

TEST_F(FlowSwitchTest, AnEntryOfDropRefusesByName) {
  set(kBySource + "drop");
  const auto out = run({ipv4_frame(), ipv4_frame({.source = "198.51.100.3"}), ipv4_frame()});
  EXPECT_EQ(out[0].reason, Reason::kFlow);
  EXPECT_TRUE(out[1].stays);
  EXPECT_EQ(out[2].reason, Reason::kFlow);
  EXPECT_EQ(count(kBySource).packets, 2u);
  EXPECT_EQ(count(kBySource).bytes, 2 * (ipv4_frame().size() - 14));
  EXPECT_EQ(view_->tables->hits(), 2u);
  EXPECT_EQ(view_->tables->misses(), 1u);
}

TEST_F(FlowSwitchTest, OutputWritesTheMacAddressesAndNothingElse) {
  set(kBySource + "output b0 mac 02:00:00:00:00:99");
  const Frame in = ipv4_frame({.ttl = 1});
  const Frame out = run({in})[0].sent;
  ASSERT_EQ(out.size(), in.size());
  EXPECT_EQ(std::memcmp(out.data(), kNext.data(), 6), 0);
  EXPECT_EQ(std::memcmp(out.data() + 6, kOut.data(), 6), 0);
  EXPECT_TRUE(std::equal(in.begin() + 12, in.end(), out.begin() + 12)) << "TTL with it";
}

TEST_F(FlowSwitchTest, OutputWithoutAMacLeavesBoth) {
  set(kBySource + "output b0");
  const Frame in = ipv4_frame();
  EXPECT_EQ(run({in})[0].sent, in);
}

TEST_F(FlowSwitchTest, TagsComeAndGoWithTheInterface) {
  set(kBySource + "output b1 mac 02:00:00:00:00:99");
  const Frame in = ipv4_frame();
  const Frame tagged = run({in})[0].sent;
  ASSERT_EQ(tagged.size(), in.size() + 4);
  EXPECT_EQ(load16_be(tagged.data() + 12), 0x8100);
  EXPECT_EQ(load16_be(tagged.data() + 14), 100);
  EXPECT_EQ(load16_be(tagged.data() + 16), 0x0800);
  EXPECT_TRUE(std::equal(in.begin() + 14, in.end(), tagged.begin() + 18));
  EXPECT_EQ((*interfaces_)[2].tx_packets.get(), 1u);
  EXPECT_EQ((*interfaces_)[2].tx_bytes.get(), in.size() - 14);

  set(kBySource + "output b0 mac 02:00:00:00:00:99");
  const Frame plain = run({ipv4_frame({.vlan = 9})})[0].sent;
  ASSERT_EQ(plain.size(), in.size());
  EXPECT_TRUE(std::equal(in.begin() + 12, in.end(), plain.begin() + 12));
  EXPECT_EQ(std::memcmp(plain.data(), kNext.data(), 6), 0);
}

TEST_F(FlowSwitchTest, TtlIsCountedDownWhereItIsAskedFor) {
  set(kBySource + "output b0 ttl decrement");
  const Frame out = run({ipv4_frame({.ttl = 9})})[0].sent;
  EXPECT_EQ(out[kIp + 8], 8);
  EXPECT_EQ(full_checksum(out.data() + kIp, 20), 0);
  EXPECT_EQ(run({ipv4_frame({.ttl = 1})})[0].reason, Reason::kTtlExpired);
}

TEST_F(FlowSwitchTest, WhatIsTooLongOrHasNoWayOutIsRefused) {
  set(kBySource + "output b0");
  EXPECT_EQ(run({ipv4_frame({.payload_bytes = 1480})})[0].reason, Reason::kNone);
  EXPECT_EQ(run({ipv4_frame({.payload_bytes = 1481})})[0].reason, Reason::kFlowTooLong);
  snapshot_.interfaces[1].up = false;
  EXPECT_EQ(run({ipv4_frame()})[0].reason, Reason::kInterfaceDown);
  snapshot_.interfaces[1].up = true;
  view_->outputs[2].present = false;
  EXPECT_EQ(run({ipv4_frame()})[0].reason, Reason::kInterfaceDown);
}

TEST_F(FlowSwitchTest, ARewrittenPacketIsLookedUpByItsNewDestination) {
  set(kBySource + "protocol udp set_to 192.0.2.77 set_dscp 46 set_mark 9 accept");
  EXPECT_TRUE(run({ipv4_frame()})[0].stays);  // the bed compares the lane with the packet
  EXPECT_EQ(chunk_->v4.destinations[0], 0xc000024du);
  const Frame out = bytes_of(chunk_->v4.packets[0]);
  EXPECT_EQ(out[kIp + 1] >> 2, 46);
  EXPECT_EQ(full_checksum(out.data() + kIp, 20), 0);
  EXPECT_EQ(view_->mark.get(chunk_->v4.packets[0]), 9u);
  set("family ipv6 protocol udp set_to 2001:db8::77 accept");
  EXPECT_TRUE(run({ipv6_frame()})[0].stays);
  EXPECT_EQ(
      std::memcmp(&chunk_->v6.destinations[0], bytes_of(chunk_->v6.packets[0]).data() + 38, 16), 0);
}

TEST_F(FlowSwitchTest, MissesAreDroppedOrSentWhereTheFileSaysSo) {
  miss("drop");
  EXPECT_EQ(run({ipv4_frame()})[0].reason, Reason::kFlow);
  EXPECT_EQ(run({ipv6_frame()})[0].reason, Reason::kFlow);
  miss("output b0");
  EXPECT_EQ(run({ipv6_frame()})[0].sent, ipv6_frame());
  set(kBySource + "accept");
  EXPECT_TRUE(run({ipv4_frame()})[0].stays);
}

TEST_F(FlowSwitchTest, OfOtherInterfacesNothingIsLookedUp) {
  set(kBySource + "drop");
  EXPECT_TRUE(run({ipv4_frame()}, {3})[0].stays);
  const auto out = run({ipv4_frame(), ipv4_frame(), ipv4_frame(), ipv4_frame()}, {3, 0, 3, 0});
  EXPECT_TRUE(out[0].stays && out[2].stays);
  EXPECT_EQ(out[1].reason, Reason::kFlow);
  EXPECT_EQ(out[3].reason, Reason::kFlow);
  EXPECT_EQ(view_->tables->hits(), 2u);
  EXPECT_EQ(view_->tables->misses(), 0u);
}

TEST_F(FlowSwitchTest, AnEntryOfAnotherInterfaceDoesNotHold) {
  set(kBySource + "interface c0 drop");
  EXPECT_TRUE(run({ipv4_frame()})[0].stays);
  set(kBySource + "interface a0 drop");
  EXPECT_EQ(run({ipv4_frame()})[0].reason, Reason::kFlow);
}

TEST_F(FlowSwitchTest, AskedForMarksAreThoseThatFiltersGave) {
  set(kBySource + "mark 9 drop");
  EXPECT_TRUE(run({ipv4_frame()})[0].stays);
  set(kBySource + "priority 1 set_mark 9 accept");
  EXPECT_TRUE(run({ipv4_frame()})[0].stays);
  chunk_->v4.count = 1;
  chunk_->refused_count = 0;
  const std::string by_mark = "from 198.51.100.2 mark 9 priority 5 drop";
  set(by_mark);
  switch_.run(*chunk_, snapshot_, 1, *transmitter_, *interfaces_);
  ASSERT_EQ(chunk_->refused_count, 1u) << "the same packet, which has the mark now";
  EXPECT_EQ(chunk_->refused[0].reason, Reason::kFlow);
}

TEST_F(FlowSwitchTest, LaterFragmentsMeetNoEntryOfPorts) {
  set(kBySource + "protocol udp sport 0 dport 0 drop");
  Frame zeros = ipv4_frame();
  std::memset(zeros.data() + kIp + 20, 0, 4);
  EXPECT_EQ(run({zeros})[0].reason, Reason::kFlow);
  EXPECT_TRUE(run({ipv4_frame({.flags_and_offset = 5})})[0].stays);
}

TEST_F(FlowSwitchTest, WholeChunksOfManyFlows) {
  for (unsigned i = 0; i < 40; ++i)
    set("from 198.51.100." + std::to_string(100 + i) +
        (i % 3 == 0   ? " drop"
         : i % 3 == 1 ? " output b0"
                      : " set_dscp 1 accept"));
  std::vector<Frame> frames;
  std::vector<std::string> sources;
  for (unsigned i = 0; i < 48; ++i) {
    sources.push_back("198.51.100." + std::to_string(100 + i * 7 % 48));
    frames.push_back(ipv4_frame({.source = sources.back().c_str()}));
  }
  const auto out = run(frames);
  for (unsigned i = 0; i < 48; ++i) {
    const unsigned flow = i * 7 % 48;
    if (flow >= 40 || flow % 3 == 2) {
      EXPECT_TRUE(out[i].stays) << i;
    } else if (flow % 3 == 0) {
      EXPECT_EQ(out[i].reason, Reason::kFlow) << i;
    } else {
      EXPECT_EQ(out[i].sent, frames[i]) << i;
    }
  }
}

TEST_F(FlowSwitchTest, TheLastUseIsTheClocks) {
  set(kBySource + "idle_s 10 drop");
  view_->tables->set_now(14);
  (void)run({ipv4_frame()});
  view_->tables->set_now(23);
  EXPECT_EQ(view_->tables->expire([] { return true; }), 0u);
  view_->tables->set_now(24);
  EXPECT_EQ(view_->tables->expire([] { return true; }), 1u);
  EXPECT_TRUE(run({ipv4_frame()})[0].stays);
}

}  // namespace
}  // namespace hecto::router::test
