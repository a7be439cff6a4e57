// Words of networks that every room needs: addresses of stations, numbers of interfaces, what
// routes and policies do. The text of each is as iproute2 writes it. Values only; thread-safe.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/id.hpp"

namespace hecto {

struct MacAddress : std::array<uint8_t, 6> {};
std::string to_string(const MacAddress& mac);                        // 02:00:00:00:00:01
std::optional<MacAddress> parse_mac_address(std::string_view text);  // the same, in either case

using PortId = Id<struct PortKind, uint16_t>;  // DPDK's number
inline constexpr PortId kNoPort = 0xffff;
using QueueId = Id<struct QueueKind, uint16_t>;  // of a port: to receive from, or to transmit on
// Index of an L3 interface (a port, or a VLAN of a port) in the router's tables. Dense, reused.
using InterfaceId = Id<struct InterfaceKind, uint16_t>;
inline constexpr InterfaceId kNoInterface = 0xffff;
using Spi = Id<struct SpiKind, uint32_t>;  // RFC 4301 §4.1; host order
std::string to_string(Spi spi);            // 0x00001000

// The tags of an interface's frames: none, one, or two, of which the inner one is of 802.1Q.
struct VlanTags {
  uint16_t vlan = 0;        // of the inner tag, or of the only one; 0: untagged
  uint16_t outer_vlan = 0;  // 0: one tag at most
  bool service = false;     // the outer one, or the only one, is of 802.1ad

  constexpr unsigned count() const noexcept { return vlan == 0 ? 0 : outer_vlan == 0 ? 1 : 2; }
  constexpr uint16_t first() const noexcept { return outer_vlan == 0 ? vlan : outer_vlan; }
  // More than one tag of 802.1Q.
  constexpr bool stacked() const noexcept { return outer_vlan != 0 || service; }
  auto operator<=>(const VlanTags&) const = default;
};
std::string to_string(const VlanTags& tags);  // 100, 100.10, 802.1ad 100.10; untagged: 0

// Who said so. Lower wins among routes of one prefix when the metrics are equal; the kernel's
// local table comes before everything, as in Linux.
enum class RouteOrigin : uint8_t {
  kLinux,     // mirrored by netlink
  kFile,      // of the configuration
  kApi,       // `hecto load-routes`, POST /v1/routes
  kNeighbor,  // host route of a resolved neighbor, made by Routing itself
};
std::string_view to_string(RouteOrigin origin) noexcept;

enum class RouteType : uint8_t {
  kUnicast,
  kLocal,
  kBroadcast,
  kMulticast,
  kBlackhole,
  kUnreachable,
  kProhibit
};
std::string_view to_string(RouteType type) noexcept;

enum class UrpfMode : uint8_t { kOff, kLoose, kStrict };  // RFC 3704
std::string_view to_string(UrpfMode mode) noexcept;

enum class IpsecMode : uint8_t { kTransport, kTunnel };
std::string_view to_string(IpsecMode mode) noexcept;
struct UdpEncapsulation {  // of ESP (RFC 3948); host order
  uint16_t source_port = 4500, destination_port = 4500;
  bool operator==(const UdpEncapsulation&) const = default;
};
enum class PolicyDirection : uint8_t { kOut, kIn, kForward };  // as in `ip xfrm policy`
std::string_view to_string(PolicyDirection direction) noexcept;
enum class PolicyAction : uint8_t { kProtect, kBypass, kDiscard };  // RFC 4301 §4.4.1
std::string_view to_string(PolicyAction action) noexcept;

}  // namespace hecto
