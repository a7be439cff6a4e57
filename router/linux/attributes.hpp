// Reading netlink bytes: messages in a datagram, attributes in a message. Every length is checked
// against the bytes really there before anything is read; nothing needs to be aligned.
// Pure, no allocation, any thread. Layouts: linux/netlink.h, linux/rtnetlink.h.
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace hecto::router {

using Bytes = std::span<const uint8_t>;

template <typename T>
std::optional<T> read_pod(Bytes bytes) noexcept {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

struct Attribute {
  uint16_t type = 0;  // without NLA_F_NESTED and NLA_F_NET_BYTEORDER
  Bytes payload;

  // The value, when the payload has exactly its size.
  template <typename T>
  std::optional<T> as() const noexcept {
    if (payload.size() != sizeof(T)) return std::nullopt;
    return read_pod<T>(payload);
  }
};

class AttributeWalker {
 public:
  explicit AttributeWalker(Bytes bytes) noexcept : rest_(bytes) {}

  // False at the end, or where an attribute does not fit (then malformed()).
  bool next(Attribute& out) noexcept {
    if (rest_.empty()) return false;
    const auto header = read_pod<nlattr>(rest_);
    if (!header || header->nla_len < sizeof(nlattr) || header->nla_len > rest_.size()) {
      malformed_ = true;
      rest_ = {};
      return false;
    }
    out.type = header->nla_type & NLA_TYPE_MASK;
    out.payload = rest_.subspan(sizeof(nlattr), header->nla_len - sizeof(nlattr));
    const size_t step = NLA_ALIGN(static_cast<size_t>(header->nla_len));
    rest_ = step < rest_.size() ? rest_.subspan(step) : Bytes{};
    return true;
  }
  bool malformed() const noexcept { return malformed_; }

 private:
  Bytes rest_;
  bool malformed_ = false;
};

// One message with its header; `body` is what follows the header.
struct Message {
  nlmsghdr header{};
  Bytes body;
};

// What follows the family's own header.
template <typename Header>
Bytes attributes_of(const Message& message) noexcept {
  const size_t skip = NLMSG_ALIGN(sizeof(Header));
  return message.body.size() > skip ? message.body.subspan(skip) : Bytes{};
}

class MessageWalker {
 public:
  explicit MessageWalker(Bytes datagram) noexcept : rest_(datagram) {}

  bool next(Message& out) noexcept {
    const auto header = read_pod<nlmsghdr>(rest_);
    if (!header) return false;
    if (header->nlmsg_len < sizeof(nlmsghdr) || header->nlmsg_len > rest_.size()) {
      malformed_ = true;
      rest_ = {};
      return false;
    }
    out.header = *header;
    raw_ = rest_.first(header->nlmsg_len);
    out.body = raw_.subspan(sizeof(nlmsghdr));
    const size_t step = NLMSG_ALIGN(static_cast<size_t>(header->nlmsg_len));
    rest_ = step < rest_.size() ? rest_.subspan(step) : Bytes{};
    return true;
  }
  Bytes raw() const noexcept { return raw_; }  // the bytes of the message just returned
  bool malformed() const noexcept { return malformed_; }

 private:
  Bytes rest_;
  Bytes raw_;
  bool malformed_ = false;
};

}  // namespace hecto::router
