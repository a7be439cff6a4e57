// A capture's taps and its reader: what is taken, where, in which order, and what is lost.
#include <gtest/gtest.h>

#include "router/dataplane/observe/observer.hpp"
#include "router/dataplane/observe/reader.hpp"
#include "tests/beds/gateway.hpp"
#include "tests/unit/router/dataplane/observe/pcapng_reader.hpp"

namespace hecto::router::test {
namespace {

std::string text_of(const rte_mbuf* packet) {
  const Frame bytes = bytes_of(packet);
  return {bytes.begin(), bytes.end()};
}

// One thread's session, and the chunk that it receives.
struct CaptureBed {
  explicit CaptureBed(CaptureOptions options) {
    session = std::make_shared<CaptureSession>(options);
    reader = std::make_unique<CaptureReader>(session, std::vector<std::string>{"a", "b"}, "test");
    pool();
  }
  ~CaptureBed() {
    for (unsigned i = 0; i < chunk.count; ++i) rte_pktmbuf_free(chunk.packets[i]);
  }
  rte_mbuf* add(const Frame& frame, const std::vector<size_t>& cuts = {}) {
    return chunk.packets[chunk.count++] = packet(frame, cuts);
  }
  CaptureTap& tap() { return session->tap(0); }
  // All of the file, once no thread has the session any more.
  ReadFile file() {
    session->leave();
    std::string all;
    while (const auto piece = reader->read(1000)) all += *piece;
    return read_pcapng(all);
  }

  Chunk chunk;
  std::shared_ptr<CaptureSession> session;
  std::unique_ptr<CaptureReader> reader;
};

TEST(PacketMatch, HoldsFramesAgainstPrefixesPortAndVlan) {
  const auto prefix = [](const char* text) { return *IpPrefix::parse(text); };
  rte_mbuf* v4 = packet(ipv4_frame());
  FrameOptions tagged;
  tagged.vlan = 100;
  rte_mbuf* on_vlan = packet(ipv4_frame(tagged));
  FrameOptions options;
  options.source = "2001:db8::1";
  options.destination = "2001:db8:1::2";
  rte_mbuf* v6 = packet(ipv6_frame(options));
  rte_mbuf* runt = packet(Frame(13, 0));
  PacketMatch all;
  for (rte_mbuf* each : {v4, on_vlan, v6, runt}) EXPECT_TRUE(all.fits_frame(each, 0));
  const PacketMatch from{prefix("198.51.100.0/24"), {}, {}, {}};
  EXPECT_TRUE(from.fits_frame(v4, 0) && from.fits_frame(on_vlan, 0));
  EXPECT_FALSE(from.fits_frame(v6, 0) || from.fits_frame(runt, 0));
  const PacketMatch to{{}, prefix("2001:db8:1::/48"), {}, {}};
  EXPECT_TRUE(to.fits_frame(v6, 0));
  EXPECT_FALSE(to.fits_frame(v4, 0));
  const PacketMatch elsewhere{prefix("203.0.113.0/24"), {}, {}, {}};
  EXPECT_FALSE(elsewhere.fits_frame(v4, 0)) << "that is its destination";
  const PacketMatch port{{}, {}, uint16_t{1}, {}};
  EXPECT_TRUE(port.fits_frame(v4, 1));
  EXPECT_FALSE(port.fits_frame(v4, 0));
  const PacketMatch vlan{{}, {}, {}, VlanTags{100, 0, false}}, untagged{{}, {}, {}, VlanTags{}};
  EXPECT_TRUE(vlan.fits_frame(on_vlan, 0) && untagged.fits_frame(v4, 0));
  EXPECT_FALSE(vlan.fits_frame(v4, 0) || untagged.fits_frame(on_vlan, 0));
  for (rte_mbuf* each : {v4, on_vlan, v6, runt}) rte_pktmbuf_free(each);
}

TEST(PacketMatch, TellsFramesApartByAllTheirTags) {
  rte_mbuf* const both = packet(ipv4_frame({.vlan = 10, .outer_vlan = 100}));
  rte_mbuf* const provider = packet(ipv4_frame({.vlan = 10, .outer_vlan = 100, .service = true}));
  const auto fits = [](const rte_mbuf* frame, VlanTags tags, bool any_protocol = false) {
    PacketMatch match{IpPrefix::parse("198.51.100.0/24"), {}, {}, tags};
    match.any_tag_protocol = any_protocol;
    return match.fits_frame(frame, 0);
  };
  EXPECT_TRUE(fits(both, {10, 100, false}) && fits(provider, {10, 100, true}));
  EXPECT_FALSE(fits(both, {10, 0, false}) || fits(both, {100, 0, false}) || fits(both, {}));
  EXPECT_FALSE(fits(both, {10, 100, true}) || fits(provider, {10, 100, false}));
  EXPECT_TRUE(fits(both, {10, 100, true}, true)) << "its port shows it so";
  rte_pktmbuf_free(both);
  rte_pktmbuf_free(provider);
}

TEST(Capture, TakesReceivedFramesWholeWhateverTheirSegments) {
  CaptureBed bed({});
  FrameOptions options;
  options.payload_bytes = 700;
  const Frame frame = ipv4_frame(options);
  bed.add(frame);
  bed.add(frame, {20, 300});
  bed.tap().received(bed.chunk, 1, 3);
  const ReadFile file = bed.file();
  ASSERT_EQ(file.packets.size(), 2u);
  for (const ReadPacket& packet : file.packets) {
    EXPECT_EQ(packet.interface, "b rx");
    EXPECT_EQ(packet.bytes, std::string(frame.begin(), frame.end()));
    EXPECT_EQ(packet.length, frame.size());
    EXPECT_EQ(packet.flags, 1u) << "inbound";
  }
  ASSERT_EQ(file.interfaces.size(), 4u) << "rx and tx of both ports";
  EXPECT_EQ(file.interfaces[1].name, "b rx");
  EXPECT_EQ(file.interfaces[1].link_type, 1);
  EXPECT_EQ(file.interfaces[1].received, 2u);
  EXPECT_EQ(file.interfaces[0].received, 0u);
  EXPECT_TRUE(file.interfaces[0].counted);
}

TEST(Capture, CutsAtTheSnapshotLength) {
  CaptureOptions options;
  options.snaplen = 33;
  CaptureBed bed(options);
  const rte_mbuf* cut = bed.add(ipv4_frame(), {10});
  bed.tap().received(bed.chunk, 0, 0);
  const ReadFile file = bed.file();
  ASSERT_EQ(file.packets.size(), 1u);
  EXPECT_EQ(file.packets[0].bytes, text_of(cut).substr(0, 33));
  EXPECT_EQ(file.packets[0].length, cut->pkt_len);
}

TEST(Capture, EndsAtItsCount) {
  CaptureOptions options;
  options.count = 3;
  CaptureBed bed(options);
  for (int i = 0; i < 5; ++i) bed.add(ipv4_frame());
  EXPECT_FALSE(bed.session->full());
  bed.tap().received(bed.chunk, 0, 0);
  EXPECT_TRUE(bed.session->full());
  EXPECT_EQ(bed.reader->counts().captured, 3u);
  EXPECT_EQ(bed.file().packets.size(), 3u);
}

// Of a burst the driver takes the first ones: those are transmitted, the others are dropped.
TEST(Capture, TellsWhatTheDriverTookFromWhatItDidNot) {
  CaptureOptions options;
  options.points |= bit(CapturePoint::kDrop);
  CaptureBed bed(options);
  for (uint16_t i = 0; i < 4; ++i) {
    FrameOptions each;
    each.payload_bytes = static_cast<uint16_t>(30 + i);
    bed.add(ipv4_frame(each));
  }
  bed.tap().offer(1, bed.chunk.packets, 4);
  bed.tap().taken(3);
  bed.tap().not_sent(bed.chunk.packets[3], Reason::kTransmitFull, 1);
  bed.tap().offer(1, bed.chunk.packets, 4);
  bed.tap().taken(0);
  const ReadFile file = bed.file();
  const auto sent = file.at("b tx");
  ASSERT_EQ(sent.size(), 3u);
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(sent[i].bytes, text_of(bed.chunk.packets[i]));
  EXPECT_EQ(sent[0].flags, 2u) << "outbound";
  const auto dropped = file.at("drop");
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].bytes, text_of(bed.chunk.packets[3]));
  EXPECT_EQ(dropped[0].comment.rfind("dropped, transmit_full: ", 0), 0u) << dropped[0].comment;
}

TEST(Capture, FiltersDropsByWhereTheyCameIn) {
  CaptureOptions options;
  options.points = bit(CapturePoint::kDrop);
  options.match.port = PortId{1};
  options.match.tags = VlanTags{100, 0, false};
  options.interface = InterfaceId{7};
  CaptureBed bed(options);
  rte_mbuf* frame = bed.add(ipv4_frame());
  bed.tap().dropped(frame, Reason::kNoRoute, 7);
  bed.tap().dropped(frame, Reason::kTtlExpired, 8);
  const auto dropped = bed.file().at("drop");
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].comment.rfind("dropped, no_route: ", 0), 0u) << dropped[0].comment;
}

TEST(Capture, CountsEveryPacketThatFoundNoRoom) {
  CaptureOptions options;
  options.ring_bytes = 4096;
  CaptureBed bed(options);
  for (int i = 0; i < 100; ++i) bed.add(ipv4_frame());
  bed.tap().received(bed.chunk, 0, 0);
  const CaptureCounts first = bed.reader->counts();
  EXPECT_EQ(first.captured + first.lost, 100u);
  EXPECT_GT(first.lost, 20u);
  bed.session->tap(0).ring().pop();  // room for one
  const uint64_t one = 1;
  bed.tap().received(bed.chunk, 0, 0);
  const CaptureCounts all = bed.reader->counts();
  EXPECT_EQ(all.captured, first.captured + one);
  EXPECT_EQ(all.captured + all.lost, 200u);
  const ReadFile file = bed.file();
  EXPECT_EQ(file.interfaces[0].received, 200u);
  EXPECT_EQ(file.interfaces[0].dropped, all.lost);
  ASSERT_EQ(file.packets.size(), all.captured - 1) << "the one that the test popped";
  EXPECT_EQ(file.packets.back().lost, first.lost) << "before this one";
  EXPECT_EQ(file.packets.front().lost, 0u);
}

TEST(CaptureReader, MergesThreadsByTimeAndEndsOnceTheyAreGone) {
  CaptureOptions options;
  options.threads = 2;
  CaptureBed bed(options);
  std::vector<size_t> lengths;
  for (uint16_t i = 0; i < 20; ++i) {
    Chunk one;
    FrameOptions each;
    each.payload_bytes = static_cast<uint16_t>(30 + i);
    one.count = 1;
    one.packets[0] = packet(ipv4_frame(each));
    lengths.push_back(one.packets[0]->pkt_len);
    bed.session->tap(i * 7 % 3 % 2).received(one, 0, 0);
    rte_pktmbuf_free(one.packets[0]);
  }
  const ReadFile file = bed.file();
  ASSERT_EQ(file.packets.size(), 20u);
  uint64_t before_ns = 0;
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_EQ(file.packets[i].length, lengths[i]);
    EXPECT_GE(file.packets[i].time_ns, before_ns);
    before_ns = file.packets[i].time_ns;
  }
  const auto now_s = static_cast<uint64_t>(std::time(nullptr));
  EXPECT_LE(before_ns / 1'000'000'000, now_s + 1);
  EXPECT_GE(before_ns / 1'000'000'000 + 60, now_s);
  EXPECT_FALSE(bed.reader->read(1000)) << "that was all";
}

TEST(CaptureUse, TheLastSnapshotLeavesTheSession) {
  pool();
  auto session = std::make_shared<CaptureSession>(CaptureOptions{});
  auto first = std::make_shared<CaptureUse>(session);
  auto second = first;
  first.reset();
  EXPECT_FALSE(session->left());
  second.reset();
  EXPECT_TRUE(session->left());
}

// Inner and outer of one packet through both gateways; the outer ones by the inner one's address.
TEST(Capture, ShowsTunnelsFromInsideAndOutside) {
  Gateway here(1), there(2);
  CaptureOptions options;
  options.points = bit(CapturePoint::kEncapInner) | bit(CapturePoint::kEncapOuter) |
                   bit(CapturePoint::kDecapOuter) | bit(CapturePoint::kDecapInner);
  options.match.from = *IpPrefix::parse("10.1.0.1");
  CaptureBed out(options);
  options.match.from = *IpPrefix::parse("192.0.2.1");
  CaptureBed in(options);
  for (const auto& [gateway, bed] : {std::pair{&here, &out}, {&there, &in}}) {
    gateway->tunnel();
    gateway->snapshot().capture = std::make_shared<CaptureUse>(bed->session);
  }
  FrameOptions frame;
  frame.to = own_mac(0);
  frame.source = "10.1.0.1";
  frame.destination = "10.2.0.1";
  const Frame clear = ipv4_frame(frame);
  here.run({packet(clear)}, 0);
  const auto encrypted = here.sent(1);
  ASSERT_EQ(encrypted.size(), 1u);
  const std::string esp = text_of(encrypted[0]).substr(kEthernetBytes);
  rte_mbuf* arrived = encrypted[0];
  const MacAddress to = own_mac(1);
  std::memcpy(rte_pktmbuf_mtod(arrived, uint8_t*), to.data(), to.size());
  const MacAddress from = kHostMac;
  std::memcpy(rte_pktmbuf_mtod(arrived, uint8_t*) + 6, from.data(), from.size());
  there.run({arrived}, 1);
  const auto opened = there.sent(0);
  ASSERT_EQ(opened.size(), 1u);
  for (rte_mbuf* each : opened) rte_pktmbuf_free(each);

  here.snapshot().capture.reset();
  there.snapshot().capture.reset();
  const ReadFile left = out.file(), came = in.file();
  ASSERT_EQ(left.packets.size(), 2u);
  EXPECT_EQ(left.packets[0].interface, "encap inner");
  EXPECT_EQ(left.packets[0].bytes.substr(12),
            std::string(clear.begin(), clear.end()).substr(kEthernetBytes + 12));
  EXPECT_EQ(left.packets[1].interface, "encap outer");
  EXPECT_EQ(left.packets[1].comment, "SPI 0x00002000");
  EXPECT_EQ(left.packets[1].bytes.substr(20), esp.substr(20)) << "but for its TTL";
  ASSERT_EQ(came.packets.size(), 2u);
  EXPECT_EQ(came.packets[0].interface, "decap outer");
  EXPECT_EQ(came.packets[0].bytes, esp);
  EXPECT_EQ(came.packets[1].interface, "decap inner");
  EXPECT_EQ(came.packets[1].bytes, left.packets[0].bytes);
  EXPECT_EQ(came.packets[1].flags, 1u);
  for (const ReadInterface& interface : left.interfaces) EXPECT_EQ(interface.link_type, 101);
}

}  // namespace
}  // namespace hecto::router::test
