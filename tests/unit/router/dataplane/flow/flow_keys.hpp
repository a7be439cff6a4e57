// Random keys and masks that meet often, and a table that is too simple to be wrong.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "router/dataplane/flow/flow_table.hpp"

namespace hecto::router::test {

inline FlowSeed fixed_flow_seed() {
  std::mt19937_64 random(7);
  FlowSeed seed;
  for (uint64_t& word : seed.words) word = random();
  seed.low = random() | 1;
  seed.high = random() | 1;
  return seed;
}

template <typename Key>
class FlowKeys {
 public:
  explicit FlowKeys(uint64_t seed) : random_(seed) {}

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  Key key() {
    Key key;
    std::memset(static_cast<void*>(&key), 0, sizeof key);
    key.protocol = static_cast<uint8_t>(6 + below(2) * 11);
    for (uint8_t* address : {key.source, key.destination}) {
      address[0] = static_cast<uint8_t>(10 + below(2));
      address[sizeof key.source - 1] = static_cast<uint8_t>(below(4));
    }
    key.ports[1] = static_cast<uint8_t>(below(3));
    key.ports[3] = static_cast<uint8_t>(below(3));
    key.dscp = static_cast<uint8_t>(below(2));
    key.interface[0] = static_cast<uint8_t>(below(2));
    return key;
  }
  Key mask() {
    Key mask;
    std::memset(static_cast<void*>(&mask), 0, sizeof mask);
    if (below(2) == 0) mask.protocol = 0xff;
    if (below(6) != 0) std::memset(mask.source, 0xff, below(2) == 0 ? 1 : sizeof mask.source);
    if (below(4) != 0) std::memset(mask.destination, 0xff, below(2) == 0 ? 1 : sizeof mask.source);
    if (below(3) == 0) std::memset(mask.ports, 0xff, 2);
    if (below(3) == 0) std::memset(mask.ports + 2, 0xff, 2);
    if (below(4) == 0) mask.dscp = 0xff;
    if (below(4) == 0) std::memset(mask.interface, 0xff, 2);
    return mask;
  }

 private:
  std::mt19937_64 random_;
};

template <typename Key>
class NaiveFlows {
 public:
  struct Entry {
    Key key, mask;
    uint32_t priority, action;
  };
  static bool holds(const Key& key, const Key& mask, const Key& wanted) {
    const auto* k = reinterpret_cast<const uint8_t*>(&key);
    const auto* m = reinterpret_cast<const uint8_t*>(&mask);
    const auto* w = reinterpret_cast<const uint8_t*>(&wanted);
    for (size_t i = 0; i < kFlowKeyWords<Key> * 8; ++i)
      if ((k[i] & m[i]) != w[i]) return false;
    return true;
  }
  void set(const Entry& entry) {
    erase(entry.key, entry.mask);
    entries_.push_back(entry);
  }
  bool erase(const Key& key, const Key& mask) {
    return std::erase_if(entries_, [&](const Entry& each) {
             return std::memcmp(&each.key, &key, kFlowKeyWords<Key> * 8) == 0 &&
                    std::memcmp(&each.mask, &mask, kFlowKeyWords<Key> * 8) == 0;
           }) > 0;
  }
  const Entry* find(const Key& key) const {  // one of the highest priority
    const Entry* best = nullptr;
    for (const Entry& each : entries_)
      if ((best == nullptr || each.priority > best->priority) && holds(key, each.mask, each.key))
        best = &each;
    return best;
  }
  size_t size() const { return entries_.size(); }
  const std::vector<Entry>& all() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace hecto::router::test
