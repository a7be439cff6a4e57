// Values as the file writes them, for reading, for to_yaml and for the lines of a difference.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "config/file/config.hpp"

namespace hecto::config {

// Which values of an enumeration the file may say, in the order that refusals and the manual name
// them; its words are those of to_string().
template <typename Enum>
struct LegalValues;
template <>
struct LegalValues<IdleMode> {
  static constexpr std::array kAll = {IdleMode::kSleep, IdleMode::kPoll, IdleMode::kInterrupt,
                                      IdleMode::kAdaptive};
};
template <>
struct LegalValues<UrpfMode> {
  static constexpr std::array kAll = {UrpfMode::kOff, UrpfMode::kLoose, UrpfMode::kStrict};
};
template <>
struct LegalValues<TagProtocol> {
  static constexpr std::array kAll = {TagProtocol::k8021q, TagProtocol::k8021ad};
};
template <>
struct LegalValues<MssClamp> {
  static constexpr std::array kAll = {MssClamp::kOff, MssClamp::kAuto};
};
template <>
struct LegalValues<RouteType> {
  static constexpr std::array kAll = {RouteType::kUnicast, RouteType::kBlackhole,
                                      RouteType::kUnreachable, RouteType::kProhibit};
};
template <>
struct LegalValues<Ipv4Engine> {
  static constexpr std::array kAll = {Ipv4Engine::kAuto, Ipv4Engine::kDirect, Ipv4Engine::kCompact};
};
template <>
struct LegalValues<OffloadMode> {
  static constexpr std::array kAll = {OffloadMode::kAuto, OffloadMode::kNever,
                                      OffloadMode::kAlways};
};
template <>
struct LegalValues<SpreadMode> {
  static constexpr std::array kAll = {SpreadMode::kNever, SpreadMode::kAuto, SpreadMode::kAlways};
};
template <>
struct LegalValues<BondMode> {
  static constexpr std::array kAll = {BondMode::kLacp, BondMode::kActiveBackup,
                                      BondMode::kBalanceXor, BondMode::kRoundRobin};
};
template <>
struct LegalValues<BondHash> {
  static constexpr std::array kAll = {BondHash::kLayer2, BondHash::kLayer23, BondHash::kLayer34};
};
template <>
struct LegalValues<LacpRate> {
  static constexpr std::array kAll = {LacpRate::kSlow, LacpRate::kFast};
};
template <>
struct LegalValues<IpsecCrypto> {
  static constexpr std::array kAll = {IpsecCrypto::kAuto, IpsecCrypto::kIpsecMb,
                                      IpsecCrypto::kOpenSsl};
};
template <>
struct LegalValues<IpsecNic> {
  static constexpr std::array kAll = {IpsecNic::kAuto, IpsecNic::kNever};
};
template <>
struct LegalValues<IpsecMode> {
  static constexpr std::array kAll = {IpsecMode::kTunnel, IpsecMode::kTransport};
};
template <>
struct LegalValues<PolicyDirection> {
  static constexpr std::array kAll = {PolicyDirection::kOut, PolicyDirection::kIn,
                                      PolicyDirection::kForward};
};
template <>
struct LegalValues<PolicyAction> {
  static constexpr std::array kAll = {PolicyAction::kProtect, PolicyAction::kBypass,
                                      PolicyAction::kDiscard};
};
template <>
struct LegalValues<NatFiltering> {
  static constexpr std::array kAll = {NatFiltering::kEndpointIndependent,
                                      NatFiltering::kAddressDependent};
};
template <>
struct LegalValues<StuckWorker> {
  static constexpr std::array kAll = {StuckWorker::kReport, StuckWorker::kRestart};
};
template <>
struct LegalValues<RuleFamily> {
  static constexpr std::array kAll = {RuleFamily::kAuto, RuleFamily::kIpv4, RuleFamily::kIpv6};
};
template <>
struct LegalValues<RuleRefusal> {
  static constexpr std::array kAll = {RuleRefusal::kBlackhole, RuleRefusal::kUnreachable,
                                      RuleRefusal::kProhibit};
};
template <>
struct LegalValues<FilterVerdict> {
  static constexpr std::array kAll = {FilterVerdict::kAccept, FilterVerdict::kDrop,
                                      FilterVerdict::kReject};
};
template <>
struct LegalValues<FragmentMatch> {
  static constexpr std::array kAll = {FragmentMatch::kAny, FragmentMatch::kNone,
                                      FragmentMatch::kFirst, FragmentMatch::kLater,
                                      FragmentMatch::kFragment};
};
template <>
struct LegalValues<PoliceEach> {
  static constexpr std::array kAll = {PoliceEach::kNone, PoliceEach::kSource,
                                      PoliceEach::kDestination};
};
template <>
struct LegalValues<SflowFrom> {
  static constexpr std::array kAll = {SflowFrom::kRouter, SflowFrom::kHost};
};
template <>
struct LegalValues<IpfixRecords> {
  static constexpr std::array kAll = {IpfixRecords::kSampled, IpfixRecords::kFlowTable};
};
inline constexpr std::array<std::string_view, 5> kLogLevels = {"trace", "debug", "info", "warn",
                                                               "error"};

const char* to_string(MssClamp clamp) noexcept;
const char* to_string(Ipv4Engine engine) noexcept;
const char* to_string(OffloadMode mode) noexcept;
const char* to_string(SpreadMode mode) noexcept;
const char* to_string(StuckWorker stuck_worker) noexcept;
const char* to_string(BondMode mode) noexcept;
const char* to_string(BondHash hash) noexcept;
const char* to_string(LacpRate rate) noexcept;
const char* to_string(TagProtocol protocol) noexcept;
std::string members_text(const BondConfig& bond);  // [eth1, eth2]
// Empty, or {mode: lacp, members: [eth1, eth2], ...}
std::string bond_text(const PortConfig& port);
// What the port is made of: its device, or "bond of eth1, eth2".
std::string device_words(const PortConfig& port);
std::string to_string(const RouteConfig& route);        // {to: 203.0.113.0/24, via: 192.0.2.9}
std::string to_string(const NeighborConfig& neighbor);  // {address: ..., interface: ..., mac: ...}
// [2-5, 8]
std::string core_list(const std::vector<unsigned>& cores);
// auto, or {0: [2-5], 1: [18-21]}
std::string workers_text(const std::map<int, std::vector<unsigned>>& workers);
// adaptive, or {2-5: poll, others: adaptive}
std::string idle_text(const Config& config);
std::string to_string(const LinuxConfig& linux_side);  // off, or {namespace: hecto, mirror: [...]}
std::string mirror_text(const LinuxConfig& linux_side);          // [addresses, routes]
std::string offload_devices_text(const OffloadConfig& offload);  // auto, or [cuda:0, cuda:1]
std::string addresses_text(const std::vector<IpPrefix>& addresses);
// The text, in quotes where YAML would take it for something else.
std::string quoted(const std::string& text);

}  // namespace hecto::config
