// Numbers and bytes as XDR has them (RFC 4506): big-endian, in units of four bytes. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.hpp"
#include "lookup/prefix.hpp"

namespace hecto::router {

class XdrWriter {
 public:
  void u32(uint32_t value) {
    uint8_t bytes[4];
    store32_be(bytes, value);
    raw(bytes, sizeof bytes);
  }
  void u64(uint64_t value) {
    uint8_t bytes[8];
    store64_be(bytes, value);
    raw(bytes, sizeof bytes);
  }
  // Its length, the bytes, and zeros to a multiple of four.
  void opaque(std::span<const std::byte> bytes) {
    u32(static_cast<uint32_t>(bytes.size()));
    raw(bytes.data(), bytes.size());
    out_.append((4 - out_.size() % 4) % 4, '\0');
  }
  // Of sFlow: its type (1: IPv4, 2: IPv6), then the bytes.
  void address(const lookup::IpAddress& address) {
    u32(address.family == lookup::Family::kIpv4 ? 1 : 2);
    raw(address.bytes.data(), address.size());
  }
  void append(const XdrWriter& other) { out_ += other.out_; }
  // The length of what has been written since begin() stands in front of it.
  size_t begin() {
    u32(0);
    return out_.size();
  }
  void end(size_t begun) { set(begun - 4, static_cast<uint32_t>(out_.size() - begun)); }
  void set(size_t at, uint32_t value) {
    store32_be(reinterpret_cast<uint8_t*>(out_.data()) + at, value);
  }

  size_t size() const { return out_.size(); }
  bool empty() const { return out_.empty(); }
  void clear() { out_.clear(); }
  std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(out_.data(), out_.size()));
  }

 private:
  void raw(const void* bytes, size_t count) { out_.append(static_cast<const char*>(bytes), count); }
  std::string out_;
};

}  // namespace hecto::router
