// The keys of `sflow`.
#include "config/file/keys_sflow.hpp"

#include <fmt/format.h>

#include "config/file/key_tables.hpp"

namespace hecto::config {

std::string collectors_text(const std::vector<HttpEndpoint>& collectors) {
  std::string text;
  for (const HttpEndpoint& collector : collectors)
    text += (text.empty() ? "" : ", ") + quoted(to_string(collector));
  return "[" + text + "]";
}

std::string sampled_ports_text(const std::vector<std::string>& ports) {
  std::string text;
  for (const std::string& port : ports) text += (text.empty() ? "" : ", ") + quoted(port);
  return text.empty() ? "all" : "[" + text + "]";
}

namespace {

using namespace row;     // integer, word, text, structure
using namespace tables;  // what all tables have in common

// clang-format off
constexpr Key<SflowConfig> kSflow[] = {
  structure<SflowConfig>("collectors", "list", "[]",
      {1, kMostCollectors, "at most {high} addresses with a port, as 192.0.2.5:6343 or \"[2001:db8::5]:6343\""},
      kReload, "Who gets the datagrams; without a port it is 6343. []: nothing is sampled.")
      .printed([](const SflowConfig& s) { return collectors_text(s.collectors); }),
  structure<SflowConfig>("agent", "text", "auto", {0, 0, "a unicast address"}, kReload,
      "The address that the router has for collectors. auto: the first that its ports have.")
      .printed([](const SflowConfig& s) {
        return s.agent ? quoted(s.agent->to_string()) : std::string();
      }),
  word<&SflowConfig::from>("from", kReload,
      "By whose routes collectors are reached: the Linux side's, or those of the namespace that hectod "
      "was started in."),
  integer<&SflowConfig::sampling>("sampling", {1, kMostSampling}, kReload,
      "One packet in so many, at random, of what comes in."),
  integer<&SflowConfig::polling_s>("polling_s", {0, 86'400}, kReload,
      "Seconds between the counters of a port. 0: they are not sent."),
  integer<&SflowConfig::header_bytes>("header_bytes", {14, 1024}, kReload,
      "Of a sampled packet, from its Ethernet header on."),
  structure<SflowConfig>("ports", "list", "all", {0, 64, "all, or a list of names under ports"}, kReload,
      "The ports whose packets are sampled and whose counters are sent, with all their VLANs.")
      .printed([](const SflowConfig& s) { return sampled_ports_text(s.ports); }),
};
// clang-format on

}  // namespace

constinit const Section<SflowConfig> sflow_keys = section<kSflow>("sflow");

}  // namespace hecto::config
