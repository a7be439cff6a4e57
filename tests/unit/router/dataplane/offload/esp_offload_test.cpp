// ESP of the stages on a device, beside a gateway that has none: the same packets come out, in the
// same order, whatever the device does.
#include <gtest/gtest.h>

#include "gpu_offload/devices/host.hpp"
#include "gpu_offload/devices/scripted.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

using gpu_offload::Answer;
using gpu_offload::HostDevice;
using gpu_offload::Script;
using gpu_offload::ScriptedDevice;

constexpr unsigned kPackets = 40;

Offload::Devices devices(std::unique_ptr<gpu_offload::Device> device) {
  Offload::Devices all;
  all.push_back(std::move(device));
  return all;
}
Offload::Devices host() {
  return devices(std::make_unique<HostDevice>(false, -1));
}

std::vector<Frame> taken(std::vector<rte_mbuf*> packets) {
  std::vector<Frame> frames;
  for (rte_mbuf* m : packets) {
    frames.push_back(bytes_of(m));
    rte_pktmbuf_free(m);
  }
  return frames;
}

// Of all sizes, from left's host.
std::vector<rte_mbuf*> some_packets(unsigned count = kPackets) {
  std::vector<rte_mbuf*> packets;
  for (unsigned i = 0; i < count; ++i)
    packets.push_back(packet(ipv4_frame(from_left(static_cast<uint16_t>(20 + i * 31)))));
  return packets;
}

// As they come out of the wire between the two.
std::vector<rte_mbuf*> packets_of(const std::vector<Frame>& frames) {
  std::vector<rte_mbuf*> packets;
  for (const Frame& frame : frames) packets.push_back(carried(packet(frame)));
  return packets;
}

uint64_t completed(Gateway& gateway) {
  uint64_t all = 0;
  const EspOffload& esp = *gateway.device().esp();
  for (unsigned i = 0; i < EspDirection::kPaths; ++i)
    all += esp.opening().path(i).stage().counters().completed.get() +
           esp.sealing().path(i).stage().counters().completed.get();
  return all;
}

std::vector<Frame> through(Gateway& gateway, const std::vector<rte_mbuf*>& packets, PortId in) {
  gateway.run(packets, in);
  gateway.settle();
  return taken(gateway.sent(PortId(in == 0 ? 1 : 0)));
}

class EspOffloadTest : public testing::Test {
 protected:
  ~EspOffloadTest() override { EXPECT_EQ(mbufs_in_use(), 0u); }
};

class EspOffloadOf : public EspOffloadTest, public testing::WithParamInterface<Algorithm> {
 protected:
  void tunnel(Gateway& gateway) {
    gateway.tunnel(Family::kIpv4, Family::kIpv4, IpsecMode::kTunnel, GetParam());
  }
};

// By the same SA from the same number on: first on the CPU, as the device is not up yet. What CBC
// makes has another IV each time, so it is opened again.
TEST_P(EspOffloadOf, SealsAsTheCpuDoes) {
  Gateway left(1, 1500, host()), right(2);
  tunnel(left);
  tunnel(right);
  const auto here = through(left, some_packets(), 0);
  ASSERT_EQ(here.size(), kPackets);
  EXPECT_EQ(completed(left), 0u);
  left.tick();
  const bool gcm = std::string_view(GetParam().integrity).empty();
  if (gcm) left.sa(2).sequence = 0;
  const auto there = through(left, some_packets(), 0);
  EXPECT_GT(completed(left), 0u) << "it was the device that did it";
  EXPECT_TRUE(left.refused().empty());
  ASSERT_EQ(there.size(), kPackets);
  if (gcm) {
    EXPECT_EQ(there, here);
    return;
  }
  const auto opened = through(right, packets_of(here), 1);
  ASSERT_EQ(opened.size(), kPackets);
  EXPECT_EQ(through(right, packets_of(there), 1), opened);
}

TEST_P(EspOffloadOf, OpensAsTheCpuDoes) {
  Gateway left(1), here(2), there(2, 1500, host());
  for (Gateway* gateway : {&left, &here, &there}) tunnel(*gateway);
  const auto sealed = through(left, some_packets(), 0);
  ASSERT_EQ(sealed.size(), kPackets);
  there.tick();
  const auto opened = through(there, packets_of(sealed), 1);
  EXPECT_GT(completed(there), 0u);
  ASSERT_EQ(opened.size(), kPackets);
  EXPECT_EQ(opened, through(here, packets_of(sealed), 1));
  EXPECT_EQ(there.sa(2).packets.load(), here.sa(2).packets.load());
  EXPECT_EQ(there.sa(2).bytes.load(), here.sa(2).bytes.load());
  EXPECT_EQ(there.sa(2).replay.top(), kPackets);
}

// A forged packet, one that comes twice in a batch and once more later, one cut short.
TEST_P(EspOffloadOf, RefusesWhatTheCpuRefuses) {
  Gateway left(1), here(2), there(2, 1500, host());
  for (Gateway* gateway : {&left, &here, &there}) tunnel(*gateway);
  auto frames = through(left, some_packets(), 0);
  frames[3][frames[3].size() - 20] ^= 1;
  frames[11][frames[11].size() - 1] ^= 0x80;
  frames.insert(frames.begin() + 20, frames[7]);
  frames[30].resize(kEthernetBytes + 20 + 20);
  frames[30][kEthernetBytes + 2] = 0;
  frames[30][kEthernetBytes + 3] = 40;
  fix_checksum(frames[30]);
  there.tick();
  for (int again = 0; again < 2; ++again) {
    const auto opened = through(there, packets_of(frames), 1);
    EXPECT_EQ(opened.size(), again == 0 ? kPackets - 3 : 0u);
    EXPECT_EQ(opened, through(here, packets_of(frames), 1));
    auto refused = there.refused(), expected = here.refused();
    std::sort(refused.begin(), refused.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(refused, expected);
  }
  EXPECT_GT(completed(there), 0u);
  for (size_t reason = 0; reason < esp::kSaReasons; ++reason)
    EXPECT_EQ(there.sa(2).drops[reason].load(), here.sa(2).drops[reason].load());
}
INSTANTIATE_TEST_SUITE_P(Router, EspOffloadOf,
                         testing::Values(Algorithm{"aes-128-gcm", ""},
                                         Algorithm{"aes-256-gcm", "", true},
                                         Algorithm{"aes-192-gcm", "", false, true},
                                         Algorithm{"aes-128-cbc", "hmac-sha1"},
                                         Algorithm{"aes-256-cbc", "hmac-sha1", true},
                                         Algorithm{"aes-128-cbc", "hmac-sha2-256", true},
                                         Algorithm{"aes-256-cbc", "hmac-sha2-256", false, true}));

// Sequence numbers of what left sealed.
std::vector<uint32_t> numbers(const std::vector<Frame>& frames) {
  std::vector<uint32_t> all;
  for (const Frame& frame : frames) all.push_back(load32_be(frame.data() + kEthernetBytes + 24));
  return all;
}
std::vector<uint32_t> from_one_to(uint32_t last) {
  std::vector<uint32_t> all;
  for (uint32_t n = 1; n <= last; ++n) all.push_back(n);
  return all;
}

class EspOffloadFailing : public EspOffloadTest, public testing::WithParamInterface<Answer> {};

// A device that fails, after it has done its work for a while: every packet comes out, in order,
// sealed once and by its own number.
TEST_P(EspOffloadFailing, LosesAndReordersNothing) {
  const uint64_t now = 0;
  unsigned jobs = 0;
  auto device = std::make_unique<ScriptedDevice>(now, [&](const gpu_offload::Job&) {
    return Script{.answer = ++jobs % 4 == 3 ? GetParam() : Answer::kRight};
  });
  Gateway left(1, 1500, devices(std::move(device))), right(2);
  left.tunnel();
  right.tunnel();
  left.tick();
  unsigned sent = 0;
  for (int round = 0; round < 12; ++round) {
    left.run(some_packets(), 0);
    sent += kPackets;
    if (round == 0) {
      EXPECT_EQ(left.device().held(), kPackets);
    }
    if (round % 3 == 2) left.poll();
    if (round % 5 == 4) left.tick();
  }
  left.settle();
  EXPECT_EQ(left.device().held(), 0u);
  EXPECT_GT(jobs, 2u);
  const auto sealed = taken(left.sent(1));
  ASSERT_EQ(numbers(sealed), from_one_to(sent));
  EXPECT_TRUE(left.refused().empty());
  for (auto first = sealed.begin(); first != sealed.end(); first += kPackets)
    EXPECT_EQ(through(right, packets_of({first, first + kPackets}), 1).size(), kPackets);
}

TEST_P(EspOffloadFailing, OpensAllTheSame) {
  const uint64_t now = 0;
  unsigned jobs = 0;
  auto device = std::make_unique<ScriptedDevice>(now, [&](const gpu_offload::Job&) {
    return Script{.answer = ++jobs % 2 == 0 ? GetParam() : Answer::kRight};
  });
  Gateway left(1), here(2), there(2, 1500, devices(std::move(device)));
  for (Gateway* gateway : {&left, &here, &there}) gateway->tunnel();
  there.tick();
  for (int round = 0; round < 4; ++round) {
    const auto sealed = through(left, some_packets(), 0);
    EXPECT_EQ(through(there, packets_of(sealed), 1), through(here, packets_of(sealed), 1));
  }
  EXPECT_EQ(there.sa(2).packets.load(), 4 * kPackets);
}
INSTANTIATE_TEST_SUITE_P(Router, EspOffloadFailing,
                         testing::Values(Answer::kNever, Answer::kError, Answer::kGarbage,
                                         Answer::kNothing, Answer::kShort, Answer::kBusy,
                                         Answer::kBroken));

// More than all batches hold: what came first is waited for.
TEST_F(EspOffloadTest, WaitsForRoomAndKeepsTheOrder) {
  Gateway left(1, 1500, host()), right(2, 1500, host());
  left.tunnel();
  right.tunnel();
  left.tick();
  right.tick();
  constexpr unsigned kMany = 1000;  // of 1300 bytes: eight batches, and there are four
  for (unsigned sent = 0; sent < kMany; sent += 250) {
    std::vector<rte_mbuf*> packets;
    for (unsigned i = 0; i < 250; ++i) packets.push_back(packet(ipv4_frame(from_left(1300))));
    left.run(packets, 0);
  }
  left.settle();
  const auto sealed = taken(left.sent(1));
  EXPECT_EQ(numbers(sealed), from_one_to(kMany));
  for (unsigned first = 0; first < kMany; first += 250)
    right.run(packets_of({sealed.begin() + first, sealed.begin() + first + 250}), 1);
  right.settle();
  EXPECT_EQ(taken(right.sent(0)).size(), kMany);
}

// The key comes to the device with control's next turn: until then the worker's engine does it.
TEST_F(EspOffloadTest, WhatTheDeviceHasNoKeyForIsDoneHere) {
  Gateway left(1, 1500, host());
  left.tick();
  left.tunnel();
  EXPECT_EQ(numbers(through(left, some_packets(), 0)), from_one_to(kPackets));
  EXPECT_GT(completed(left), 0u) << "it was asked";
  left.tick();
  EXPECT_EQ(through(left, some_packets(), 0).size(), kPackets);
}

TEST_F(EspOffloadTest, OtherTransformsStayHere) {
  Gateway left(1, 1500, host()), right(2, 1500, host());
  for (Gateway* gateway : {&left, &right}) {
    gateway->tunnel(Family::kIpv4, Family::kIpv4, IpsecMode::kTunnel, {"chacha20-poly1305"});
    gateway->tick();
    EXPECT_EQ(gateway->offload().esp_keys()->table().count(), 0u);
  }
  left.run(some_packets(), 0);
  EXPECT_EQ(left.device().held(), 0u);
  right.run(packets_of(taken(left.sent(1))), 1);
  EXPECT_EQ(right.device().held(), 0u);
  EXPECT_EQ(taken(right.sent(0)).size(), kPackets);
}

// Packets in flight keep their SA and its key until they are out.
TEST_F(EspOffloadTest, AnSaThatIsRemovedLivesAsLongAsItsPackets) {
  Gateway left(1), right(2, 1500, host());
  left.tunnel();
  right.tunnel();
  right.tick();
  const auto sealed = through(left, some_packets(), 0);
  right.run(packets_of(sealed), 1);
  EXPECT_EQ(right.device().held(), kPackets);
  const auto& keys = right.offload().esp_keys()->table();
  const SaId id = right.sa(2).id;
  ASSERT_TRUE(right.ipsec().remove_sa(id, RouteOrigin::kFile));
  right.ipsec().commit();
  right.ipsec().commit();
  EXPECT_EQ(keys.count(), 2u) << "not forgotten yet";
  right.settle();
  EXPECT_EQ(taken(right.sent(0)).size(), kPackets);
  right.ipsec().commit();
  EXPECT_EQ(keys.count(), 1u);
  right.tick();
}

// What a later stage holds by the time an earlier one is empty is waited for, too.
TEST_F(EspOffloadTest, AMomentHasPassedWhenAllStagesAreThrough) {
  Gateway left(1), right(2, 1500, host());
  left.tunnel();
  right.tunnel();
  right.tick();
  WorkerOffload& device = right.device();
  const auto sealed = through(left, some_packets(3), 0);
  right.run(packets_of(sealed), 1);
  device.mark();
  EXPECT_FALSE(device.passed());
  right.run({packet(ipv4_frame(from_host("10.2.0.1", "10.1.0.1")))}, 0);  // to be sealed
  while (!device.esp()->opening().empty()) right.poll_opened();
  EXPECT_FALSE(device.passed());
  right.settle();
  EXPECT_TRUE(device.passed());
  taken(right.sent(0));
  taken(right.sent(1));
}

}  // namespace
}  // namespace hecto::router::test
