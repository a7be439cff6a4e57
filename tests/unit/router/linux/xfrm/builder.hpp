// XFRM messages as the kernel sends them, for decode tests.
#pragma once

#include <arpa/inet.h>
#include <linux/udp.h>
#include <linux/xfrm.h>
#include <netinet/in.h>

#include "router/linux/xfrm/decode_policy.hpp"
#include "router/linux/xfrm/decode_sa.hpp"
#include "tests/unit/router/linux/message_builder.hpp"

namespace hecto::router {

inline xfrm_address_t xfrm_of(const std::string& text) {
  const IpAddress address = *IpAddress::parse(text);
  xfrm_address_t result{};
  std::memcpy(&result, address.bytes.data(), address.size());
  return result;
}

inline uint16_t family_of(const std::string& text) {
  return text.find(':') == std::string::npos ? AF_INET : AF_INET6;
}

// A tunnel state without algorithms.
inline xfrm_usersa_info sa_info(const std::string& from = "192.0.2.1",
                                const std::string& to = "192.0.2.2", Spi spi = 0x1001) {
  xfrm_usersa_info info{};
  info.family = family_of(to);
  info.sel.family = info.family;
  info.id = {xfrm_of(to), htonl(spi), IPPROTO_ESP};
  info.saddr = xfrm_of(from);
  info.mode = XFRM_MODE_TUNNEL;
  info.reqid = 7;
  info.replay_window = 32;
  info.lft = {XFRM_INF, XFRM_INF, XFRM_INF, XFRM_INF, 0, 0, 0, 0};
  return info;
}

// The payload of XFRMA_ALG_*: a name, lengths in bits, a key of 1, 2, 3, ...
inline std::vector<uint8_t> algorithm(const std::string& name, unsigned key_bytes,
                                      std::optional<uint32_t> other_bits = {}) {
  std::vector<uint8_t> bytes(64);
  std::copy(name.begin(), name.end(), bytes.begin());
  const auto put = [&](uint32_t value) {
    bytes.resize(bytes.size() + sizeof value);
    std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
  };
  put(key_bytes * 8);
  if (other_bits) put(*other_bits);
  for (unsigned i = 1; i <= key_bytes; ++i) bytes.push_back(static_cast<uint8_t>(i));
  return bytes;
}

class XfrmBuilder : public MessageBuilder {
 public:
  using MessageBuilder::MessageBuilder;
  XfrmBuilder& with(uint16_t type, const std::vector<uint8_t>& payload) {
    raw(type, payload.data(), payload.size());
    return *this;
  }
};

inline XfrmBuilder sa_message(const xfrm_usersa_info& info, uint16_t type = XFRM_MSG_NEWSA) {
  XfrmBuilder builder(type);
  builder.head(info);
  return builder;
}

inline XfrmBuilder gcm_message(const xfrm_usersa_info& info = sa_info()) {
  XfrmBuilder builder = sa_message(info);
  builder.with(XFRMA_ALG_AEAD, algorithm("rfc4106(gcm(aes))", 20, 128));
  return builder;
}

// What XFRMA_REPLAY_ESN_VAL holds, with a bitmap of zeros.
inline std::vector<uint8_t> wide_replay(uint64_t sequence, uint64_t received, uint32_t window,
                                        uint32_t words) {
  const uint32_t head[6] = {words,
                            static_cast<uint32_t>(sequence),
                            static_cast<uint32_t>(received),
                            static_cast<uint32_t>(sequence >> 32),
                            static_cast<uint32_t>(received >> 32),
                            window};
  const auto* from = reinterpret_cast<const uint8_t*>(head);
  std::vector<uint8_t> bytes(from, from + sizeof head);
  bytes.resize(bytes.size() + words * sizeof(uint32_t));
  return bytes;
}

inline xfrm_selector selector(const std::string& source, uint8_t source_length,
                              const std::string& destination, uint8_t destination_length) {
  xfrm_selector result{};
  result.family = family_of(source);
  result.saddr = xfrm_of(source);
  result.prefixlen_s = source_length;
  result.daddr = xfrm_of(destination);
  result.prefixlen_d = destination_length;
  return result;
}

inline xfrm_userpolicy_info policy_info(uint8_t direction = XFRM_POLICY_OUT) {
  xfrm_userpolicy_info info{};
  info.sel = selector("10.1.0.0", 16, "10.2.0.0", 16);
  info.dir = direction;
  info.priority = 1000;
  info.index = 8U + direction;
  info.action = XFRM_POLICY_ALLOW;
  return info;
}

inline xfrm_user_tmpl esp_template(const std::string& from = "192.0.2.1",
                                   const std::string& to = "192.0.2.2") {
  xfrm_user_tmpl result{};
  result.id = {xfrm_of(to), 0, IPPROTO_ESP};
  result.family = family_of(to);
  result.saddr = xfrm_of(from);
  result.reqid = 7;
  result.mode = XFRM_MODE_TUNNEL;
  return result;
}

inline XfrmBuilder policy_message(const xfrm_userpolicy_info& info,
                                  const std::vector<xfrm_user_tmpl>& templates) {
  XfrmBuilder builder(XFRM_MSG_NEWPOLICY);
  builder.head(info);
  if (!templates.empty()) {
    builder.raw(XFRMA_TMPL, templates.data(), templates.size() * sizeof(xfrm_user_tmpl));
  }
  return builder;
}

}  // namespace hecto::router
