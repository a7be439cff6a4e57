// VLAN tags as JSON tells them: null what is not there.
#pragma once

#include <nlohmann/json.hpp>

#include "base/net.hpp"

namespace hecto::router {

inline nlohmann::json vlan_json(const VlanTags& tags) {
  return tags.vlan == 0 ? nlohmann::json() : nlohmann::json(tags.vlan);
}
inline nlohmann::json outer_vlan_json(const VlanTags& tags) {
  return tags.outer_vlan == 0 ? nlohmann::json() : nlohmann::json(tags.outer_vlan);
}
// Of the first one.
inline nlohmann::json tag_protocol_json(const VlanTags& tags) {
  return tags.vlan == 0 ? nlohmann::json() : nlohmann::json(tags.service ? "802.1ad" : "802.1q");
}

}  // namespace hecto::router
