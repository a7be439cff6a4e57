#include "router/rib/next_hop_objects.hpp"

namespace hecto::router {

bool NextHopObjects::set(const NextHopObject& object, uint16_t generation) {
  auto [found, fresh] = objects_.try_emplace(object.id);
  found->second.generation = generation;
  if (!fresh && found->second.object == object) return false;
  found->second.object = object;
  return true;
}

bool NextHopObjects::remove(uint32_t id) {
  return objects_.erase(id) == 1;
}

std::vector<uint32_t> NextHopObjects::stale(uint16_t generation) const {
  std::vector<uint32_t> ids;
  for (const auto& [id, entry] : objects_) {
    if (entry.generation != generation) ids.push_back(id);
  }
  return ids;
}

const NextHopObject* NextHopObjects::find(uint32_t id) const {
  auto found = id == 0 ? objects_.end() : objects_.find(id);
  return found == objects_.end() ? nullptr : &found->second.object;
}

}  // namespace hecto::router
