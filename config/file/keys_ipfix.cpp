// The keys of `ipfix`.
#include "config/file/key_tables.hpp"
#include "config/file/keys_sflow.hpp"

namespace hecto::config {
namespace {

using namespace row;     // integer, word, structure
using namespace tables;  // what all tables have in common

// clang-format off
constexpr Key<IpfixConfig> kIpfix[] = {
  structure<IpfixConfig>("collectors", "list", "[]",
      {1, kMostCollectors, "at most {high} addresses with a port, as 192.0.2.5:4739 or \"[2001:db8::5]:4739\""},
      kReload, "Who gets the messages; without a port it is 4739. []: nothing is told.")
      .printed([](const IpfixConfig& ipfix) { return collectors_text(ipfix.collectors); }),
  word<&IpfixConfig::from>("from", kReload,
      "By whose routes collectors are reached: the Linux side's, or those of the namespace that hectod "
      "was started in."),
  word<&IpfixConfig::records>("records", kReload,
      "Whose flows: those that samples tell of, or the entries of the flow table with all that they count."),
  integer<&IpfixConfig::sampling>("sampling", {1, kMostSampling}, kReload,
      "One packet in so many, at random, of what comes in. With sFlow on, too: the same as there."),
  structure<IpfixConfig>("ports", "list", "all", {0, 64, "all, or a list of names under ports"}, kReload,
      "The ports whose packets are sampled, with all their VLANs. With sFlow on, too: the same as there.")
      .printed([](const IpfixConfig& ipfix) { return sampled_ports_text(ipfix.ports); }),
  integer<&IpfixConfig::active_s>("active_s", {1, 86'400}, kReload,
      "Seconds after which a flow that goes on is told, and begins anew."),
  integer<&IpfixConfig::idle_s>("idle_s", {1, 86'400}, kReload,
      "Seconds without a packet after which a flow is over and told. Of entries they are not asked."),
  integer<&IpfixConfig::flows>("flows", {kLeastIpfixFlows, kMostIpfixFlows}, kReload,
      "Room for flows that are not told yet. Full: the one that rests longest is told before its time."),
  integer<&IpfixConfig::domain>("domain", {0, kMost32}, kReload, "The observation domain."),
  integer<&IpfixConfig::templates_s>("templates_s", {1, 86'400}, kReload,
      "Seconds between templates; they are also sent at the start, and where a collector was not there."),
};
// clang-format on

}  // namespace

constinit const Section<IpfixConfig> ipfix_keys = section<kIpfix>("ipfix");

}  // namespace hecto::config
