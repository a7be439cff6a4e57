#include "router/control/offload_watch.hpp"

#include <fmt/format.h>

#include "router/control/instance.hpp"
#include "router/dataplane/sampler.hpp"

namespace hecto::router {

// True while it goes on. Fewer than before: another port has its name.
bool OffloadWatch::Flaw::update(uint64_t now_packets, uint64_t least, Clock::time_point now) {
  if (now_packets < packets) *this = {};
  if (now_packets > packets && now_packets >= least) grew = now;
  packets = now_packets;
  sentence.clear();
  return grew && now - *grew < kGoesOn;
}

std::vector<std::string> OffloadWatch::sampled(const ForwardingPlane& plane, const Sampler& sampler,
                                               Clock::time_point now) {
  std::vector<std::string> lines;
  std::map<std::string, Seen> kept;
  const auto tell = [&lines](const std::string& port, Flaw& flaw, std::string sentence) {
    flaw.sentence = std::move(sentence);
    if (!std::exchange(flaw.told, true))
      lines.push_back(fmt::format("port {}: {}", port, flaw.sentence));
  };
  for (const PortStatus& port : plane.ports()) {
    Seen& seen = kept[port.name()] = std::move(ports_[port.name()]);
    const std::string device = kernel_interface_of(port.config);
    const TrafficTotals totals = sampler.port(sampler.now(), port.id);
    if (seen.coalesced.update(totals.rx_coalesced, 1, now))
      tell(port.name(), seen.coalesced,
           fmt::format(
               "{} packets came in longer than a frame of its MTU {}: several in one, or of a "
               "larger MTU; \"ethtool -K {} gro off lro off\" here, \"ethtool -K DEVICE tso off "
               "gso off\" on a veth's far end, or one MTU on both ends",
               totals.rx_coalesced, port.mtu, device));
    if (seen.unfinished.update(totals.rx_unfinished, kNoAccident, now))
      tell(port.name(), seen.unfinished,
           fmt::format(
               "unfinished TCP or UDP checksums, {} of {} packets that were looked at: a sender "
               "on the far end of a veth leaves them to its NIC; \"ethtool -K DEVICE tx off\" "
               "there",
               totals.rx_unfinished, totals.rx_checked));
  }
  ports_ = std::move(kept);
  return lines;
}

std::vector<std::string> OffloadWatch::troubles(const std::string& port) const {
  const auto found = ports_.find(port);
  std::vector<std::string> sentences;
  if (found == ports_.end()) return sentences;
  for (const Flaw* flaw : {&found->second.coalesced, &found->second.unfinished})
    if (!flaw->sentence.empty()) sentences.push_back(flaw->sentence);
  return sentences;
}

}  // namespace hecto::router
