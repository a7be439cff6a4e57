#include "router/rib/mrt.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "router/rib/route_builder.hpp"

namespace hecto::router {

namespace {

constexpr uint16_t kTableDump = 12;
constexpr uint16_t kTableDumpV2 = 13;

// RFC 6396 section 4.3, RFC 8050 section 4.
enum Subtype : uint16_t {
  kPeerIndexTable = 1,
  kRibIpv4Unicast = 2,
  kRibIpv6Unicast = 4,
  kRibIpv4UnicastAddPath = 8,
  kRibIpv6UnicastAddPath = 10,
};

constexpr uint8_t kPeerIpv6 = 1;  // RFC 6396 section 4.3.1
constexpr uint8_t kPeerAs4 = 2;
constexpr uint8_t kExtendedLength = 0x10;  // RFC 4271 section 4.3
constexpr uint8_t kNextHop = 3;
constexpr uint8_t kMpReachNlri = 14;

// A cursor over bytes that checks before it reads. After the first failure it gives zeros, and
// ok() says so; `offset` is the byte of the input that the cursor stands at.
class Cursor {
 public:
  Cursor(std::string_view bytes, size_t offset) : bytes_(bytes), offset_(offset) {}

  bool ok() const { return ok_; }
  size_t offset() const { return offset_; }
  size_t left() const { return bytes_.size(); }

  std::string_view take(size_t n) {
    if (n > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    std::string_view taken = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    offset_ += n;
    return taken;
  }
  Cursor sub(size_t n) {
    size_t at = offset_;
    return Cursor(take(n), at);
  }
  uint32_t number(size_t n) {
    uint32_t value = 0;
    for (char c : take(n)) value = value << 8 | static_cast<uint8_t>(c);
    return value;
  }

 private:
  std::string_view bytes_;
  size_t offset_;
  bool ok_ = true;
};

IpAddress address_from(std::string_view bytes, Family family) {
  IpAddress address;
  address.family = family;
  std::copy_n(bytes.begin(), std::min<size_t>(bytes.size(), address.size()), address.bytes.begin());
  return address;
}

// RFC 6396 section 4, without the deprecated ones of its appendix B.
bool is_mrt_type(uint16_t type) {
  return (type >= 11 && type <= 13) || type == 16 || type == 17 || type == 32 || type == 33 ||
         type == 48 || type == 49;
}

// Where and why a record is bad.
struct Damage {
  size_t offset;
  std::string what;
};
template <typename T>
using Parsed = tl::expected<T, Damage>;

class MrtParser {
 public:
  MrtParser(const RouteFileOptions& options, const std::string& label)
      : builder_(options, RouteFileFormat::kMrt, label) {}

  Result<RouteFile> parse(std::string_view bytes);

 private:
  Parsed<void> record(Cursor& input);
  Parsed<void> contents(uint16_t type, uint16_t subtype, Cursor body);
  Parsed<void> peer_index_table(Cursor body);
  Parsed<void> rib(Cursor body, Family family, bool add_path);
  Parsed<void> table_dump(Cursor body, Family family);
  Parsed<std::optional<IpAddress>> next_hop(Cursor attributes);
  std::optional<IpAddress> mp_next_hop(Cursor value);
  void add(const IpPrefix& prefix, const std::optional<IpAddress>& gateway, size_t offset);
  static tl::unexpected<Damage> at(size_t offset, std::string what) {
    return tl::unexpected<Damage>(Damage{offset, std::move(what)});
  }
  // A length that is wrong shows here, before it makes nonsense of the records that follow.
  static Parsed<void> at_end(const Cursor& body, size_t start) {
    if (body.left() == 0) return {};
    return at(start, fmt::format("a record is {} bytes longer than what it holds", body.left()));
  }

  RouteBuilder builder_;
};

Result<RouteFile> MrtParser::parse(std::string_view bytes) {
  Cursor input(bytes, 0);
  while (input.left() != 0 && !builder_.starved()) {
    auto parsed = record(input);
    if (parsed) continue;
    auto passed_over = builder_.bad_byte(parsed.error().offset, parsed.error().what);
    if (!passed_over) return tl::unexpected(passed_over.error());
  }
  return builder_.finish();
}

// Takes one record off the input, or all of it where nobody can say any more where one begins.
Parsed<void> MrtParser::record(Cursor& input) {
  size_t start = input.offset();
  input.take(4);  // time
  auto type = static_cast<uint16_t>(input.number(2));
  auto subtype = static_cast<uint16_t>(input.number(2));
  uint32_t length = input.number(4);
  if (!input.ok()) return at(start, "an MRT header is cut off");
  if (!is_mrt_type(type) || length > input.left()) {
    size_t left = input.left();
    input.take(left);
    if (!is_mrt_type(type)) return at(start, fmt::format("there is no MRT type {}", type));
    return at(start, fmt::format("a record says {} bytes, but {} are left", length, left));
  }
  return contents(type, subtype, input.sub(length));
}

Parsed<void> MrtParser::contents(uint16_t type, uint16_t subtype, Cursor body) {
  if (type == kTableDump && (subtype == 1 || subtype == 2)) {  // AFI
    return table_dump(body, subtype == 1 ? Family::kIpv4 : Family::kIpv6);
  }
  if (type == kTableDumpV2) {
    switch (subtype) {
      case kPeerIndexTable:
        return peer_index_table(body);
      case kRibIpv4Unicast:
      case kRibIpv4UnicastAddPath:
        return rib(body, Family::kIpv4, subtype == kRibIpv4UnicastAddPath);
      case kRibIpv6Unicast:
      case kRibIpv6UnicastAddPath:
        return rib(body, Family::kIpv6, subtype == kRibIpv6UnicastAddPath);
      default:
        break;
    }
  }
  builder_.skip(fmt::format("byte {}: MRT type {} subtype {} holds no unicast table", body.offset(),
                            type, subtype));
  return {};
}

// RFC 6396 section 4.3.1. Only names the peers: nothing of it is kept.
Parsed<void> MrtParser::peer_index_table(Cursor body) {
  size_t start = body.offset();
  body.take(4);               // collector
  body.take(body.number(2));  // view name
  for (uint32_t peers = body.number(2); peers > 0 && body.ok(); --peers) {
    uint32_t flags = body.number(1);
    body.take(4 + ((flags & kPeerIpv6) != 0 ? 16 : 4) + ((flags & kPeerAs4) != 0 ? 4 : 2));
  }
  if (!body.ok()) return at(start, "a table of peers is cut off");
  return at_end(body, start);
}

// RFC 6396 sections 4.3.2 and 4.3.4.
Parsed<void> MrtParser::rib(Cursor body, Family family, bool add_path) {
  size_t start = body.offset();
  body.take(4);  // sequence number
  uint32_t length = body.number(1);
  const uint32_t bits = family == Family::kIpv4 ? 32 : 128;
  if (body.ok() && length > bits) {
    return at(start, fmt::format("a prefix length of {} is above {}", length, bits));
  }
  IpPrefix prefix{address_from(body.take((length + 7) / 8), family), static_cast<uint8_t>(length)};
  prefix = prefix.network();  // the bits behind the prefix may be anything
  uint32_t entries = body.number(2);
  if (!body.ok()) return at(start, "a RIB entry is cut off");
  std::optional<IpAddress> gateway;
  for (; entries > 0; --entries) {
    body.take(2 + 4 + (add_path ? 4 : 0));  // peer, time, path identifier
    uint32_t attribute_bytes = body.number(2);
    Cursor attributes = body.sub(attribute_bytes);
    if (!body.ok()) return at(start, fmt::format("{}: a path is cut off", prefix.to_string()));
    auto found = next_hop(attributes);
    if (!found) return tl::unexpected(found.error());
    if (!gateway) gateway = *found;
  }
  if (auto ended = at_end(body, start); !ended) return ended;
  add(prefix, gateway, start);
  return {};
}

// RFC 6396 section 4.2: one path a record.
Parsed<void> MrtParser::table_dump(Cursor body, Family family) {
  size_t start = body.offset();
  const size_t address_bytes = family == Family::kIpv4 ? 4 : 16;
  body.take(4);  // view, sequence number
  IpPrefix prefix{address_from(body.take(address_bytes), family), 0};
  uint32_t length = body.number(1);
  body.take(1 + 4 + address_bytes + 2);  // status, time, peer, its AS
  uint32_t attribute_bytes = body.number(2);
  Cursor attributes = body.sub(attribute_bytes);
  if (!body.ok()) return at(start, "a table entry is cut off");
  if (length > address_bytes * 8) {
    return at(start, fmt::format("a prefix length of {} is above {}", length, address_bytes * 8));
  }
  prefix.length = static_cast<uint8_t>(length);
  auto gateway = next_hop(attributes);
  if (!gateway) return tl::unexpected(gateway.error());
  if (auto ended = at_end(body, start); !ended) return ended;
  add(prefix.network(), *gateway, start);
  return {};
}

Parsed<std::optional<IpAddress>> MrtParser::next_hop(Cursor attributes) {
  std::optional<IpAddress> found;
  while (attributes.left() != 0) {
    size_t start = attributes.offset();
    uint32_t flags = attributes.number(1);
    uint32_t type = attributes.number(1);
    uint32_t length = attributes.number((flags & kExtendedLength) != 0 ? 2 : 1);
    Cursor value = attributes.sub(length);
    if (!attributes.ok()) return at(start, "a path attribute is cut off");
    if (type == kNextHop) {
      if (length != 4) return at(start, fmt::format("NEXT_HOP of {} bytes, not 4", length));
      if (!found) found = address_from(value.take(4), Family::kIpv4);
    } else if (type == kMpReachNlri) {
      auto gateway = mp_next_hop(value);
      if (!gateway) return at(start, "MP_REACH_NLRI holds no next hop");
      found = gateway;
    }
  }
  return found;
}

// The next hop alone (RFC 6396 section 4.3.4), or, as older tools write it, the whole attribute of
// RFC 4760 section 3, which begins with the zero byte of an AFI.
std::optional<IpAddress> MrtParser::mp_next_hop(Cursor value) {
  uint32_t length = value.number(1);
  if (length == 0) {
    value.take(2);  // the rest of AFI, SAFI
    length = value.number(1);
  }
  std::string_view bytes = value.take(length);
  if (!value.ok()) return std::nullopt;
  if (length == 4) return address_from(bytes, Family::kIpv4);
  if (length == 16 || length == 32) return address_from(bytes, Family::kIpv6);
  return std::nullopt;
}

void MrtParser::add(const IpPrefix& prefix, const std::optional<IpAddress>& gateway,
                    size_t offset) {
  if (builder_.repeats_last(prefix)) return;
  if (builder_.has_via()) {
    if (builder_.add_by_via(prefix, prefix.to_string())) return;
  } else if (gateway &&
             (gateway->family == prefix.address.family || prefix.address.family == Family::kIpv4)) {
    builder_.add(prefix, builder_.set_of_gateway(*gateway));
    return;
  }
  builder_.skip(fmt::format("byte {}: {} has no next hop", offset, prefix.to_string()));
}

}  // namespace

Result<RouteFile> parse_mrt(std::string_view bytes, const RouteFileOptions& options,
                            const std::string& label) {
  return MrtParser(options, label).parse(bytes);
}

}  // namespace hecto::router
