#include "router/ipfix/message.hpp"

#include "base/bytes.hpp"

namespace hecto::router {
namespace {

constexpr size_t kHeader_bytes = 16, kSetHeader_bytes = 4;
constexpr uint16_t kTemplateSet = 2, kOptionsTemplateSet = 3;
constexpr uint16_t kFlow4 = 256, kFlow6 = 257, kEntry4 = 258, kEntry6 = 259, kSelector = 260,
                   kInterval = 261;

// Numbers of IANA's registry "IPFIX Information Elements".
enum Element : uint16_t {
  kOctetDeltaCount = 1,
  kPacketDeltaCount = 2,
  kProtocolIdentifier = 4,
  kIpClassOfService = 5,
  kTcpControlBits = 6,
  kSourceTransportPort = 7,
  kSourceIpv4Address = 8,
  kSourceIpv4PrefixLength = 9,
  kIngressInterface = 10,
  kDestinationTransportPort = 11,
  kDestinationIpv4Address = 12,
  kDestinationIpv4PrefixLength = 13,
  kEgressInterface = 14,
  kSourceIpv6Address = 27,
  kDestinationIpv6Address = 28,
  kSourceIpv6PrefixLength = 29,
  kDestinationIpv6PrefixLength = 30,
  kIcmpTypeCodeIpv4 = 32,
  kSamplingInterval = 34,
  kVlanId = 58,
  kForwardingStatus = 89,
  kFlowEndReason = 136,
  kIcmpTypeCodeIpv6 = 139,
  kFlowId = 148,
  kObservationDomainId = 149,
  kFlowStartMilliseconds = 152,
  kFlowEndMilliseconds = 153,
  kSelectorId = 302,
  kSelectorAlgorithm = 304,
  kSamplingPacketInterval = 305,
  kSamplingPacketSpace = 306,
  kSamplingSize = 309,
  kSamplingPopulation = 310,
};

struct Field {
  uint16_t element, bytes;
};

constexpr Field kFields4[] = {
    {kSourceIpv4Address, 4},        {kDestinationIpv4Address, 4}, {kSourceTransportPort, 2},
    {kDestinationTransportPort, 2}, {kProtocolIdentifier, 1},     {kIpClassOfService, 1},
    {kTcpControlBits, 2},           {kIcmpTypeCodeIpv4, 2},       {kVlanId, 2},
    {kIngressInterface, 4},         {kEgressInterface, 4},        {kFlowStartMilliseconds, 8},
    {kFlowEndMilliseconds, 8},      {kPacketDeltaCount, 8},       {kOctetDeltaCount, 8},
    {kForwardingStatus, 1},         {kFlowEndReason, 1},          {kSelectorId, 8},
};
constexpr Field kFields6[] = {
    {kSourceIpv6Address, 16},       {kDestinationIpv6Address, 16}, {kSourceTransportPort, 2},
    {kDestinationTransportPort, 2}, {kProtocolIdentifier, 1},      {kIpClassOfService, 1},
    {kTcpControlBits, 2},           {kIcmpTypeCodeIpv6, 2},        {kVlanId, 2},
    {kIngressInterface, 4},         {kEgressInterface, 4},         {kFlowStartMilliseconds, 8},
    {kFlowEndMilliseconds, 8},      {kPacketDeltaCount, 8},        {kOctetDeltaCount, 8},
    {kForwardingStatus, 1},         {kFlowEndReason, 1},           {kSelectorId, 8},
};
constexpr Field kEntryFields4[] = {
    {kSourceIpv4Address, 4},
    {kSourceIpv4PrefixLength, 1},
    {kDestinationIpv4Address, 4},
    {kDestinationIpv4PrefixLength, 1},
    {kSourceTransportPort, 2},
    {kDestinationTransportPort, 2},
    {kProtocolIdentifier, 1},
    {kIngressInterface, 4},
    {kEgressInterface, 4},
    {kFlowStartMilliseconds, 8},
    {kFlowEndMilliseconds, 8},
    {kPacketDeltaCount, 8},
    {kOctetDeltaCount, 8},
    {kForwardingStatus, 1},
    {kFlowEndReason, 1},
    {kSelectorId, 8},
    {kFlowId, 8},
};
constexpr Field kEntryFields6[] = {
    {kSourceIpv6Address, 16},
    {kSourceIpv6PrefixLength, 1},
    {kDestinationIpv6Address, 16},
    {kDestinationIpv6PrefixLength, 1},
    {kSourceTransportPort, 2},
    {kDestinationTransportPort, 2},
    {kProtocolIdentifier, 1},
    {kIngressInterface, 4},
    {kEgressInterface, 4},
    {kFlowStartMilliseconds, 8},
    {kFlowEndMilliseconds, 8},
    {kPacketDeltaCount, 8},
    {kOctetDeltaCount, 8},
    {kForwardingStatus, 1},
    {kFlowEndReason, 1},
    {kSelectorId, 8},
    {kFlowId, 8},
};
// The first one is the scope.
constexpr Field kSelectorFields[] = {
    {kSelectorId, 8},          {kSelectorAlgorithm, 2}, {kSamplingPacketInterval, 4},
    {kSamplingPacketSpace, 4}, {kSamplingSize, 4},      {kSamplingPopulation, 4},
};
constexpr Field kIntervalFields[] = {
    {kObservationDomainId, 4}, {kSelectorId, 8}, {kSamplingInterval, 4}};
constexpr uint16_t kScopeFields = 1;

// Of IANA's "PSAMP Parameters": what was not chosen by count is nearest to n out of N.
constexpr uint16_t kCountBased = 1, kRandomOutOfN = 3;

std::span<const Field> fields_of(uint16_t id) {
  switch (id) {
    case kFlow4:
      return kFields4;
    case kFlow6:
      return kFields6;
    case kEntry4:
      return kEntryFields4;
    case kEntry6:
      return kEntryFields6;
    case kInterval:
      return kIntervalFields;
    default:
      return kSelectorFields;
  }
}

size_t bytes_of(uint16_t id) {
  size_t bytes = 0;
  for (const Field& field : fields_of(id)) bytes += field.bytes;
  return bytes;
}

uint16_t template_of(IpfixKind kind, const IpfixRecord& record) {
  if (kind == IpfixKind::kEntry) return record.flow.ipv6 ? kEntry6 : kEntry4;
  return record.flow.ipv6 ? kFlow6 : kFlow4;
}

}  // namespace

void IpfixMessages::u16(uint32_t value) {
  uint8_t bytes[2];
  store16_be(bytes, value);
  message_.append(reinterpret_cast<const char*>(bytes), sizeof bytes);
}
void IpfixMessages::u32(uint32_t value) {
  uint8_t bytes[4];
  store32_be(bytes, value);
  message_.append(reinterpret_cast<const char*>(bytes), sizeof bytes);
}
void IpfixMessages::u64(uint64_t value) {
  uint8_t bytes[8];
  store64_be(bytes, value);
  message_.append(reinterpret_cast<const char*>(bytes), sizeof bytes);
}
void IpfixMessages::set16(size_t at, size_t value) {
  store16_be(reinterpret_cast<uint8_t*>(message_.data()) + at, static_cast<uint32_t>(value));
}

void IpfixMessages::set_domain(uint32_t domain) {
  if (domain == domain_) return;
  send();
  domain_ = domain;
  sequence_ = 0;
}

void IpfixMessages::end_set() {
  if (set_ != 0) set16(set_at_ + 2, message_.size() - set_at_);
  set_ = 0;
}

void IpfixMessages::begin(uint16_t set, size_t bytes) {
  const size_t needed = bytes + (set == set_ ? 0 : kSetHeader_bytes);
  if (!message_.empty() && message_.size() + needed > kMostIpfixMessage_bytes) send();
  if (message_.empty()) message_.assign(kHeader_bytes, '\0');
  if (set == set_) return;
  end_set();
  set_ = set;
  set_at_ = message_.size();
  u16(set);
  u16(0);
}

// The sequence number is of the data records before the message; templates do not count (RFC 7011 §3.1).
void IpfixMessages::send() {
  if (message_.empty()) return;
  end_set();
  auto* const header = reinterpret_cast<uint8_t*>(message_.data());
  store16_be(header, kIpfixVersion);
  store16_be(header + 2, static_cast<uint32_t>(message_.size()));
  store32_be(header + 4, seconds_);
  store32_be(header + 8, sequence_);
  store32_be(header + 12, domain_);
  ++messages_;
  records_ += flows_;
  sequence_ += flows_ + options_;
  flows_ = options_ = 0;
  send_(std::as_bytes(std::span(message_.data(), message_.size())));
  message_.clear();
}

void IpfixMessages::write_template(uint16_t id) {
  const std::span<const Field> fields = fields_of(id);
  const bool options = id == kSelector || id == kInterval;
  if (options) end_set();  // nfdump reads the first of a set alone
  begin(options ? kOptionsTemplateSet : kTemplateSet,
        kSetHeader_bytes + (options ? 2 : 0) + fields.size() * 4);
  u16(id);
  u16(static_cast<uint32_t>(fields.size()));
  if (options) u16(kScopeFields);
  for (const Field& field : fields) {
    u16(field.element);
    u16(field.bytes);
  }
}

void IpfixMessages::add_templates(std::span<const uint32_t> samplings) {
  for (const uint16_t id : {kFlow4, kFlow6, kEntry4, kEntry6, kSelector, kInterval})
    write_template(id);
  for (const uint32_t sampling : samplings) write_selector(sampling);
  for (const uint32_t sampling : samplings) write_interval(sampling);
}

void IpfixMessages::write_selector(uint32_t sampling) {
  begin(kSelector, bytes_of(kSelector));
  u64(sampling);
  u16(sampling == 1 ? kCountBased : kRandomOutOfN);
  u32(1);
  u32(sampling - 1);
  u32(1);
  u32(sampling);
  ++options_;
}

void IpfixMessages::write_interval(uint32_t sampling) {
  begin(kInterval, bytes_of(kInterval));
  u32(domain_);
  u64(sampling);
  u32(sampling);
  ++options_;
}

void IpfixMessages::add(IpfixKind kind, const IpfixRecord& record) {
  const uint16_t id = template_of(kind, record);
  begin(id, bytes_of(id));
  for (const Field& field : fields_of(id)) write(field.element, field.bytes, record);
  ++flows_;
}

void IpfixMessages::write(uint16_t element, uint16_t bytes, const IpfixRecord& record) {
  const IpfixFlow& flow = record.flow;
  const auto address = [&](const std::array<uint8_t, 16>& from) {
    message_.append(reinterpret_cast<const char*>(from.data()), bytes);
  };
  switch (element) {
    case kSourceIpv4Address:
    case kSourceIpv6Address:
      return address(flow.source);
    case kDestinationIpv4Address:
    case kDestinationIpv6Address:
      return address(flow.destination);
    case kSourceIpv4PrefixLength:
    case kSourceIpv6PrefixLength:
      return u8(record.source_length);
    case kDestinationIpv4PrefixLength:
    case kDestinationIpv6PrefixLength:
      return u8(record.destination_length);
    case kSourceTransportPort:
      return u16(flow.source_port);
    case kDestinationTransportPort:
      return u16(flow.destination_port);
    case kProtocolIdentifier:
      return u8(flow.protocol);
    case kIpClassOfService:
      return u8(record.traffic_class);
    case kTcpControlBits:
      return u16(record.tcp_flags);
    case kIcmpTypeCodeIpv4:
    case kIcmpTypeCodeIpv6:
      return u16(flow.icmp);
    case kVlanId:
      return u16(flow.vlan);
    case kIngressInterface:
      return u32(flow.ingress);
    case kEgressInterface:
      return u32(flow.egress);
    case kFlowStartMilliseconds:
      return u64(record.first_ms);
    case kFlowEndMilliseconds:
      return u64(record.last_ms);
    case kPacketDeltaCount:
      return u64(record.packets);
    case kOctetDeltaCount:
      return u64(record.bytes);
    case kForwardingStatus:
      return u8(flow.forwarding);
    case kFlowEndReason:
      return u8(static_cast<uint8_t>(record.end));
    case kSelectorId:
      return u64(flow.sampling);
    case kFlowId:
      return u64(record.entry);
    default:
      break;
  }
}

}  // namespace hecto::router
