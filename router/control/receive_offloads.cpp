#include "router/control/receive_offloads.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <net/if.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/dataplane/ports/interface_features.hpp"

namespace hecto::router {

std::vector<std::string> ReceiveOffloads::turn_off(const std::string& port,
                                                   const std::string& interface,
                                                   const std::string& key) {
  const auto features = InterfaceFeatures::read(interface);
  const std::vector<std::string> on =
      features ? features->on(receive_offloads()) : std::vector<std::string>{};
  FeaturesOff off{static_cast<int>(if_nametoindex(interface.c_str())), on};
  const FeaturesOff before = off_.contains(key)  ? off_[key]
                             : locks_ != nullptr ? locks_->features_off(key)
                                                 : FeaturesOff{};
  if (before.ifindex == off.ifindex)
    for (const std::string& name : before.names)
      if (std::find(on.begin(), on.end(), name) == on.end()) off.names.push_back(name);
  if (locks_ != nullptr) locks_->note_features_off(key, off);
  if (off.names.empty()) return turn_off_receive_offloads(interface);
  off_[key] = off;
  std::vector<std::string> sentences = turn_off_receive_offloads(interface);
  if (sentences.empty())
    spdlog::info("port {}: {} of {} off till it ends", port, fmt::join(off.names, ", "), interface);
  return sentences;
}

void ReceiveOffloads::put_back(const std::string& interface, const std::string& key) {
  const auto found = off_.extract(key);
  if (found.empty()) return;
  const FeaturesOff& off = found.mapped();
  if (static_cast<int>(if_nametoindex(interface.c_str())) == off.ifindex) {
    const auto features = InterfaceFeatures::read(interface);
    const Result<void> done =
        features ? features->set(off.names, true) : tl::unexpected(features.error());
    if (!done)
      spdlog::warn("{} does not go back on: {}; \"ethtool -K {} {} on\" does it",
                   fmt::join(off.names, ", "), done.error().message, interface,
                   fmt::join(off.names, " on "));
  }
  if (locks_ != nullptr) locks_->note_features_off(key, {});
}

}  // namespace hecto::router
