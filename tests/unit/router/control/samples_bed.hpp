// Samples as workers leave them, and a collector on loopback.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "router/control/sample_control.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {

using namespace std::chrono_literals;
using Clock = SampleControl::Clock;

inline constexpr const char* kSampledPorts = R"(
workers: {0: [1, 2]}
ports:
  wan0: {device: eth1, addresses: [192.0.2.1/24]}
  lan0: {device: eth2, addresses: [10.1.0.1/24]}
routes:
  - {to: 203.0.113.0/24, via: 192.0.2.9}
neighbors: [{address: 192.0.2.9, interface: wan0, mac: "02:00:00:00:00:09"}]
)";

using Bytes = std::vector<uint8_t>;

inline Bytes udp4(const char* from, const char* to, uint16_t sport, uint16_t dport) {
  Bytes frame(42, 0);
  frame[12] = 8;
  frame[14] = 0x45;
  frame[17] = 28;
  frame[22] = 64;
  frame[23] = 17;
  ::inet_pton(AF_INET, from, frame.data() + 26);
  ::inet_pton(AF_INET, to, frame.data() + 30);
  store16_be(frame.data() + 34, sport);
  store16_be(frame.data() + 36, dport);
  return frame;
}

class SamplesBed : public ::testing::Test {
 protected:
  SamplesBed() {
    receiver_ = FileDescriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    ::inet_pton(AF_INET, "127.0.0.1", &name.sin_addr);
    socklen_t length = sizeof name;
    EXPECT_EQ(::bind(receiver_.get(), reinterpret_cast<sockaddr*>(&name), length), 0);
    ::getsockname(receiver_.get(), reinterpret_cast<sockaddr*>(&name), &length);
    udp_port_ = ntohs(name.sin_port);
    bed_ = ControlBed::started(kSampledPorts);
    bed_->plane.worker_list = {{0, 1, 0, {{"wan0", 0}}, 0}, {1, 2, 0, {{"lan0", 0}}, 0}};
    control_ = std::make_unique<SampleControl>(bed_->plane, bed_->interfaces.table(), bed_->routing,
                                               bed_->sampler);
    bed_->routing.commit();
  }

  void configure(const std::string& keys) {
    config_ = read(std::string(kSampledPorts) + "sflow: {collectors: [127.0.0.1:" +
                   std::to_string(udp_port_) + "]" + keys + "}\n");
  }
  void tick(Clock::duration later = 50ms) { control_->tick(config_, now_ += later); }
  const FlowSampling& told() const { return bed_->plane.sampling->sampling; }
  PortId id(const std::string& port) const { return bed_->plane.port(port)->id; }

  // A worker has taken one.
  void taken(unsigned worker, FlowRecord record, const Bytes& frame) {
    FlowTap& tap = (*bed_->plane.sampling->taps)[worker];
    tap.ports[record.port].pool.add(record.rate);
    tap.ports[record.port].taken.add(1);
    record.captured = static_cast<uint16_t>(frame.size());
    record.length = record.length == 0 ? record.captured : record.length;
    std::byte* const entry = tap.ring.reserve(static_cast<uint32_t>(sizeof record + frame.size()));
    if (entry == nullptr) {
      tap.ports[record.port].lost.add(1);
      return;
    }
    std::memcpy(entry, &record, sizeof record);
    std::memcpy(entry + sizeof record, frame.data(), frame.size());
    tap.ring.publish();
  }
  FlowRecord record(const char* in, const char* out) const {
    FlowRecord r;
    r.rate = 1000;
    r.port = id(in);
    r.egress = id(out);
    r.fate = SampleFate::kForwarded;
    return r;
  }
  std::vector<Bytes> datagrams() {
    std::vector<Bytes> all;
    for (Bytes bytes(2000);;) {
      const ssize_t got = ::recv(receiver_.get(), bytes.data(), bytes.size(), 0);
      if (got < 0) return all;
      all.emplace_back(bytes.begin(), bytes.begin() + got);
    }
  }
  static uint32_t word(const Bytes& datagram, size_t at) {
    return load32_be(datagram.data() + 4 * at);
  }

  FileDescriptor receiver_;
  uint16_t udp_port_ = 0;
  std::unique_ptr<ControlBed> bed_;
  std::unique_ptr<SampleControl> control_;
  config::Config config_ = read(kSampledPorts);
  Clock::time_point now_ = Clock::now();
};

}  // namespace hecto::router::test
