#include "router/ipfix/flow_cache.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "base/bytes.hpp"

namespace hecto::router {
namespace {

constexpr size_t kLeastBuckets = 1024;

__extension__ using Wide = unsigned __int128;

// Both halves of a product: as wyhash has it.
uint64_t fold_product(uint64_t a, uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

IpfixFlowCache::IpfixFlowCache(const Options& options, Export out)
    : options_(options), out_(std::move(out)), buckets_(kLeastBuckets, kNone) {
  std::random_device random;
  for (uint64_t& word : secret_) word = uint64_t{random()} << 32 | random() | 1;
}

uint32_t IpfixFlowCache::hash_of(const IpfixFlow& flow) const {
  uint64_t words[8];
  std::memcpy(words, flow.source.data(), 16);
  std::memcpy(words + 2, flow.destination.data(), 16);
  words[4] = uint64_t{flow.ingress} << 32 | flow.egress;
  words[5] = uint64_t{flow.source_port} << 48 | uint64_t{flow.destination_port} << 32 |
             uint64_t{flow.icmp} << 16 | flow.vlan;
  words[6] = uint64_t{flow.sampling} << 32 | uint64_t{flow.protocol} << 16 |
             uint64_t{flow.forwarding} << 8 | uint64_t{flow.ipv6};
  words[7] = secret_[3];
  uint64_t hash = secret_[0];
  for (unsigned i = 0; i < 8; i += 2)
    hash = fold_product(words[i] ^ secret_[1] ^ hash, words[i + 1] ^ secret_[2]) + hash;
  return static_cast<uint32_t>(fold_product(hash ^ secret_[3], secret_[0]));
}

void IpfixFlowCache::append(List& list, Links Entry::*links, uint32_t at) {
  (entries_[at].*links) = {list.back, kNone};
  if (list.back == kNone)
    list.front = at;
  else
    (entries_[list.back].*links).after = at;
  list.back = at;
}

void IpfixFlowCache::remove(List& list, Links Entry::*links, uint32_t at) {
  const Links own = entries_[at].*links;
  if (own.before == kNone)
    list.front = own.after;
  else
    (entries_[own.before].*links).after = own.after;
  if (own.after == kNone)
    list.back = own.before;
  else
    (entries_[own.after].*links).before = own.before;
}

void IpfixFlowCache::grow_buckets() {
  std::vector<uint32_t> larger(buckets_.size() * 2, kNone);
  buckets_.swap(larger);
  for (uint32_t at = by_age_.front; at != kNone; at = entries_[at].by_age.after) {
    uint32_t* const head = bucket(entries_[at].hash);
    entries_[at].next = *head;
    *head = at;
  }
}

uint32_t IpfixFlowCache::insert(const IpfixFlow& flow, uint32_t hash, uint64_t now_ms) {
  if (size_ >= options_.room) {
    ++forced_;
    end(by_use_.front, FlowEnd::kNoRoom);
  }
  if (size_ == buckets_.size()) grow_buckets();
  uint32_t at = free_;
  if (at == kNone) {
    at = static_cast<uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    free_ = entries_[at].next;
  }
  Entry& entry = entries_[at];
  entry = {};
  entry.flow = flow;
  entry.hash = hash;
  entry.first_ms = now_ms;
  uint32_t* const head = bucket(hash);
  entry.next = *head;
  *head = at;
  append(by_use_, &Entry::by_use, at);
  append(by_age_, &Entry::by_age, at);
  ++size_;
  return at;
}

void IpfixFlowCache::add(const IpfixFlow& flow, const IpfixPacket& packet, uint64_t now_ms) {
  const uint32_t hash = hash_of(flow);
  uint32_t at = *bucket(hash);
  while (at != kNone && !(entries_[at].hash == hash && entries_[at].flow == flow))
    at = entries_[at].next;
  const bool known = at != kNone;
  if (!known) at = insert(flow, hash, now_ms);
  Entry& entry = entries_[at];
  if (!known) entry.traffic_class = packet.traffic_class;
  ++entry.packets;
  ++packets_;
  entry.bytes += packet.bytes;
  entry.tcp_flags |= packet.tcp_flags;
  entry.last_ms = now_ms;
  if (!known || by_use_.back == at) return;
  remove(by_use_, &Entry::by_use, at);
  append(by_use_, &Entry::by_use, at);
}

void IpfixFlowCache::end(uint32_t at, FlowEnd why) {
  Entry& entry = entries_[at];
  uint32_t* link = bucket(entry.hash);
  while (*link != at) link = &entries_[*link].next;
  *link = entry.next;
  remove(by_use_, &Entry::by_use, at);
  remove(by_age_, &Entry::by_age, at);
  --size_;
  packets_ -= entry.packets;
  IpfixRecord record;
  record.flow = entry.flow;
  record.packets = entry.packets;
  record.bytes = entry.bytes;
  record.first_ms = entry.first_ms;
  record.last_ms = entry.last_ms;
  record.end = why;
  record.traffic_class = entry.traffic_class;
  record.tcp_flags = entry.tcp_flags;
  entry.next = free_;
  free_ = at;
  out_(record);
}

bool IpfixFlowCache::expire(uint64_t now_ms, size_t most) {
  for (; most > 0; --most) {
    if (size_ > options_.room) {
      ++forced_;
      end(by_use_.front, FlowEnd::kNoRoom);
    } else if (by_use_.front != kNone &&
               now_ms - entries_[by_use_.front].last_ms >= options_.idle_ms) {
      end(by_use_.front, FlowEnd::kIdle);
    } else if (by_age_.front != kNone &&
               now_ms - entries_[by_age_.front].first_ms >= options_.active_ms) {
      end(by_age_.front, FlowEnd::kActive);
    } else {
      return false;
    }
  }
  return true;
}

bool IpfixFlowCache::end_some(size_t most) {
  for (; most > 0 && by_age_.front != kNone; --most) end(by_age_.front, FlowEnd::kForced);
  return by_age_.front != kNone;
}

void IpfixFlowCache::set_times(uint64_t active_ms, uint64_t idle_ms) {
  options_.active_ms = active_ms;
  options_.idle_ms = idle_ms;
}

uint64_t IpfixFlowCache::bytes() const {
  return entries_.capacity() * sizeof(Entry) + buckets_.capacity() * sizeof(uint32_t);
}

}  // namespace hecto::router
