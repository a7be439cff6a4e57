// Netlink messages, byte by byte, for decode tests.
#pragma once

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "router/linux/decode_route.hpp"

namespace hecto::router {

class MessageBuilder {
 public:
  MessageBuilder(uint16_t type, uint16_t flags = 0) {
    nlmsghdr header{};
    header.nlmsg_type = type;
    header.nlmsg_flags = flags;
    append(&header, sizeof header);
  }
  template <typename Header>
  MessageBuilder& head(const Header& header) {
    append(&header, sizeof header);
    return *this;
  }
  MessageBuilder& raw(uint16_t type, const void* data, size_t size) {
    const nlattr attribute{static_cast<uint16_t>(sizeof(nlattr) + size), type};
    append(&attribute, sizeof attribute);
    append(data, size);
    return *this;
  }
  template <typename T>
  MessageBuilder& put(uint16_t type, const T& value) {
    return raw(type, &value, sizeof value);
  }
  MessageBuilder& text(uint16_t type, const std::string& value) {
    return raw(type, value.c_str(), value.size() + 1);
  }
  MessageBuilder& address(uint16_t type, const std::string& value) {
    const IpAddress parsed = *IpAddress::parse(value);
    return raw(type, parsed.bytes.data(), parsed.size());
  }
  MessageBuilder& nest(uint16_t type, const std::function<void(MessageBuilder&)>& fill) {
    const size_t at = bytes_.size();
    put(static_cast<uint16_t>(type), std::vector<uint8_t>{}, 0);
    fill(*this);
    const auto length = static_cast<uint16_t>(bytes_.size() - at);
    std::memcpy(bytes_.data() + at, &length, sizeof length);
    return *this;
  }
  MessageBuilder& leg(const rtnexthop& header, const std::function<void(MessageBuilder&)>& fill) {
    const size_t at = bytes_.size();
    append(&header, sizeof header);
    fill(*this);
    const auto length = static_cast<uint16_t>(bytes_.size() - at);
    std::memcpy(bytes_.data() + at, &length, sizeof length);
    return *this;
  }
  std::vector<uint8_t> bytes() {
    const auto length = static_cast<uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &length, sizeof length);
    return bytes_;
  }

 private:
  void put(uint16_t type, const std::vector<uint8_t>& empty, int) { raw(type, empty.data(), 0); }
  void append(const void* data, size_t size) {
    const size_t at = bytes_.size();
    bytes_.resize((at + size + 3) & ~size_t{3});
    if (size != 0) std::memcpy(bytes_.data() + at, data, size);
  }

  std::vector<uint8_t> bytes_;
};

inline Message message_of(const std::vector<uint8_t>& bytes) {
  MessageWalker walker(bytes);
  Message message;
  walker.next(message);
  return message;
}

}  // namespace hecto::router
