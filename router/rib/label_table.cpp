#include "router/rib/label_table.hpp"

namespace hecto::router {

LabelTable::LabelTable(const std::vector<int>& sockets, lookup::Memory& memory) : memory_(memory) {
  for (const int socket : sockets) replicas_[socket];
}

bool LabelTable::make() {
  constexpr size_t kBytes = kMostLabels * sizeof(uint16_t);
  for (auto& [socket, replica] : replicas_) {
    if (replica.block.as<uint16_t>() == nullptr)
      replica.block = lookup::MemoryBlock(memory_, kBytes, socket);
    if (replica.block.as<uint16_t>() == nullptr) return false;
  }
  for (auto& [socket, replica] : replicas_)
    replica.view.slots.store(replica.block.as<uint16_t>(), std::memory_order_release);
  made_ = true;
  return true;
}

bool LabelTable::set(uint32_t label, lookup::GroupId group) {
  if (!made_ && group == lookup::kNoRoute) return true;
  if (label >= kMostLabels || (!made_ && !make())) return false;
  for (auto& [socket, replica] : replicas_)
    __atomic_store_n(replica.block.as<uint16_t>() + label, group.value(), __ATOMIC_RELEASE);
  return true;
}

}  // namespace hecto::router
