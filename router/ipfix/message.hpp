// Records of flows, to messages of IPFIX (RFC 7011). Elements are IANA's (RFC 7012). Not thread-safe.
//
//   256, 257  flows that samples tell of: IPv4, IPv6
//   258, 259  entries of the flow table
//   260       options: how packets of a selector are chosen (PSAMP, RFC 5476)
//   261       the same for collectors that know samplingInterval alone, as nfdump's
//
// Of samples counts are those of the packets that were sampled; the selector of the record says how many
// each stands for, as collectors multiply by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "router/ipfix/record.hpp"

namespace hecto::router {

inline constexpr size_t kMostIpfixMessage_bytes =
    1400;  // fits a path of 1,500 bytes, IPv6 and UDP in front
inline constexpr uint16_t kIpfixVersion = 10;

enum class IpfixKind : uint8_t { kSampled, kEntry };

class IpfixMessages {
 public:
  using Send = std::function<void(std::span<const std::byte>)>;
  explicit IpfixMessages(Send send) : send_(std::move(send)) {}

  void set_domain(uint32_t domain);  // sends what is there by the old one; numbers begin anew
  void set_time(uint32_t seconds) {
    seconds_ = seconds;
  }  // since 1970, of what is sent from now on
  // Sends what is there where it does not fit behind it.
  void add(IpfixKind kind, const IpfixRecord& record);
  // All templates, and a record for each of these: one packet in so many.
  void add_templates(std::span<const uint32_t> samplings);
  void send();  // what is there

  bool empty() const { return message_.empty(); }
  uint64_t messages() const { return messages_; }
  uint64_t records() const { return records_; }    // of flows, that were sent
  uint32_t sequence() const { return sequence_; }  // data records of the domain, sent

 private:
  // Room for a record of that set; where it is not the set that is open, for a new one.
  void begin(uint16_t set, size_t bytes);
  void end_set();
  void u8(uint8_t value) { message_.push_back(static_cast<char>(value)); }
  void u16(uint32_t value);
  void u32(uint32_t value);
  void u64(uint64_t value);
  void set16(size_t at, size_t value);
  void write_template(uint16_t id);
  void write(uint16_t element, uint16_t bytes, const IpfixRecord& record);
  void write_selector(uint32_t sampling);
  void write_interval(uint32_t sampling);

  const Send send_;
  uint32_t domain_ = 1, seconds_ = 0, sequence_ = 0;
  uint32_t flows_ = 0, options_ = 0;  // data records in the message
  uint64_t messages_ = 0, records_ = 0;
  uint16_t set_ = 0;  // that is open; 0: none
  size_t set_at_ = 0;
  std::string message_;
};

}  // namespace hecto::router
