#include "router/dataplane/punt/sessions.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

namespace hecto::router {
namespace {

constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio

uint64_t mix(uint64_t hash, uint64_t word) noexcept {
  hash = (hash ^ word) * kMultiplier;
  return hash ^ hash >> 29;
}

uint64_t hash_of(const SocketAddress& address, uint64_t seed) noexcept {
  uint64_t words[2];
  std::memcpy(words, address.bytes.data(), sizeof words);
  return mix(mix(seed, words[0] + address.v6), words[1]);
}

uint64_t hash_of(uint64_t seed, uint8_t protocol, const SocketAddress& local, uint16_t local_port,
                 const SocketAddress& remote, uint16_t remote_port) noexcept {
  const uint64_t ports = uint64_t{protocol} << 32 | uint64_t{local_port} << 16 | remote_port;
  return hash_of(remote, hash_of(local, mix(seed, ports)));
}

// Half full at most: probes stay short and end at an empty slot.
template <typename Item, typename Hash>
std::vector<uint32_t> slots_of(const std::vector<Item>& items, Hash&& hash) {
  if (items.empty()) return {};
  std::vector<uint32_t> slots(std::bit_ceil(items.size() * 2));
  for (size_t i = 0; i < items.size(); ++i) {
    size_t at = hash(items[i]);
    while (slots[at & (slots.size() - 1)] != 0) ++at;
    slots[at & (slots.size() - 1)] = static_cast<uint32_t>(i + 1);
  }
  return slots;
}

template <typename Item, typename Same>
bool found(const std::vector<uint32_t>& slots, const std::vector<Item>& items, uint64_t hash,
           Same&& same) noexcept {
  if (slots.empty()) return false;
  for (size_t at = hash;; ++at) {
    const uint32_t slot = slots[at & (slots.size() - 1)];
    if (slot == 0) return false;
    if (same(items[slot - 1])) return true;
  }
}

template <typename Item>
size_t sort_and_bound(std::vector<Item>& items, size_t most) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  if (items.size() <= most) return 0;
  const size_t beyond = items.size() - most;
  items.resize(most);
  return beyond;
}

}  // namespace

uint64_t PuntSessions::any_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

PuntSessions::PuntSessions(std::span<const SocketEntry> sockets,
                           std::span<const SocketAddress> peers)
    : peers_(peers.begin(), peers.end()) {
  for (const SocketEntry& socket : sockets) {
    if (socket.state == SocketEntry::State::kListening) {
      (socket.protocol == 6 ? tcp_ : udp_).set(socket.local_port);
      continue;
    }
    connections_.push_back(socket);
    connections_.back().state = SocketEntry::State::kConnected;
    if (socket.protocol == 17) udp_.set(socket.local_port);
  }
  left_out_ = sort_and_bound(connections_, kMostConnections) + sort_and_bound(peers_, kMostPeers);
  connection_slots_ = slots_of(connections_, [this](const SocketEntry& s) {
    return hash_of(seed_, s.protocol, s.local, s.local_port, s.remote, s.remote_port);
  });
  peer_slots_ =
      slots_of(peers_, [this](const SocketAddress& peer) { return hash_of(peer, seed_); });
}

bool PuntSessions::connected(uint8_t protocol, const SocketAddress& local, uint16_t local_port,
                             const SocketAddress& remote, uint16_t remote_port) const noexcept {
  return found(connection_slots_, connections_,
               hash_of(seed_, protocol, local, local_port, remote, remote_port),
               [&](const SocketEntry& s) {
                 return s.local_port == local_port && s.remote_port == remote_port &&
                        s.protocol == protocol && s.remote == remote && s.local == local;
               });
}

bool PuntSessions::known_peer(const SocketAddress& address) const noexcept {
  return found(peer_slots_, peers_, hash_of(address, seed_),
               [&](const SocketAddress& peer) { return peer == address; });
}

}  // namespace hecto::router
