// An Ipsec with a clock, a log and readers that the test moves.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "router/ipsec/ipsec.hpp"
#include "tests/beds/addresses.hpp"
#include "tests/beds/qsbr.hpp"

namespace hecto::router::test {

inline const char* const kHere = "192.0.2.1";
inline const char* const kThere = "198.51.100.1";

inline SaState sa_state(Spi spi, uint32_t reqid = 1, uint8_t key = 1) {
  SaState state;
  state.id = {ip(kThere), spi};
  state.source = ip(kHere);
  state.reqid = reqid;
  state.transform = {esp::Cipher::kAesGcm, esp::Integrity::kNone, 16, 16};
  state.keys.cipher.fill(key);
  state.keys.cipher_bytes = 20;
  state.replay_window = 64;
  return state;
}

inline IpsecPolicy out_policy(const std::string& source, const std::string& destination,
                              uint32_t reqid = 1, uint32_t priority = 100) {
  IpsecPolicy policy;
  policy.selector.source = net(source);
  policy.selector.destination = net(destination);
  policy.selector.family = policy.selector.source.address.family;
  policy.priority = priority;
  policy.protection = PolicyTemplate{ip(kHere), ip(kThere), reqid, 0, IpsecMode::kTunnel, false};
  return policy;
}

inline esp::FlowKey flow(const std::string& source, const std::string& destination,
                         uint8_t protocol = 6, uint16_t source_port = 1000,
                         uint16_t destination_port = 2000) {
  const IpAddress from = ip(source), to = ip(destination);
  return {from.family, protocol, source_port, destination_port, {from.bytes}, {to.bytes}};
}

class IpsecBed : public testing::Test {
 protected:
  void make(uint32_t max_sas = 100, uint32_t max_policies = 100) {
    IpsecOptions options;
    options.max_sas = max_sas;
    options.max_policies = max_policies;
    options.readers = &readers;
    options.nic = nic;
    options.now_s = [this] { return now_s; };
    options.log = [this](LogLevel, const std::string& line) { lines.push_back(line); };
    ipsec = std::make_unique<Ipsec>(std::move(options));
  }
  NicCrypto* nic = nullptr;
  void SetUp() override { make(); }

  const esp::Policy* out(const std::string& source = "10.1.0.1",
                         const std::string& destination = "10.2.0.1", uint32_t if_id = 0) const {
    return ipsec->view().out->find(flow(source, destination), if_id);
  }
  // What protects the first packets of a policy; null: nothing.
  esp::Sa* protects(const std::string& source = "10.1.0.1",
                    const std::string& destination = "10.2.0.1") const {
    const esp::Policy* policy = out(source, destination);
    return policy == nullptr ? nullptr : policy->sa.load();
  }
  esp::Sa* inbound(Spi spi) const {
    return ipsec->view().sad->find(spi, Family::kIpv4, ip(kThere).bytes.data());
  }
  // SPI that protects; 0: none.
  Spi spi() const { return protects() == nullptr ? Spi{0} : protects()->id.spi; }
  size_t told(const std::string& part) const {
    size_t count = 0;
    for (const std::string& line : lines) count += line.find(part) != std::string::npos;
    return count;
  }

  uint32_t now_s = 1000;
  std::vector<std::string> lines;
  lookup::Qsbr readers;
  std::unique_ptr<Ipsec> ipsec;
};

}  // namespace hecto::router::test
