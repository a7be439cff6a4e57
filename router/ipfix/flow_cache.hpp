// Flows under way: what sampled packets add up to, till a flow rests, goes on for too long, or others need
// its place. Bounded by `room`; a packet costs O(1). Not thread-safe.
//
// Hashed with secret words of this process, so that no sender makes flows meet. Times are of any clock
// that does not go back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "router/ipfix/record.hpp"

namespace hecto::router {

struct IpfixPacket {
  uint32_t bytes = 0;
  uint8_t traffic_class = 0, tcp_flags = 0;
};

class IpfixFlowCache {
 public:
  struct Options {
    uint32_t room = 65'536;
    uint64_t active_ms = 60'000, idle_ms = 15'000;
  };
  // Times of the record are of this cache's clock. `end` is kIdle, kActive, kForced or kNoRoom.
  using Export = std::function<void(const IpfixRecord& record)>;

  IpfixFlowCache(const Options& options, Export out);
  IpfixFlowCache(const IpfixFlowCache&) = delete;
  IpfixFlowCache& operator=(const IpfixFlowCache&) = delete;

  // Flows that are there keep to their times, by the new ones.
  void set_times(uint64_t active_ms, uint64_t idle_ms);
  // What has no room any more expires, the one that rests longest first.
  void set_room(uint32_t room) { options_.room = room; }
  void add(const IpfixFlow& flow, const IpfixPacket& packet, uint64_t now_ms);
  // Flows whose time is over, or that have no room, at most so many. True: there may be more.
  bool expire(uint64_t now_ms, size_t most);
  // Whatever their time, at most so many. True: there are more.
  bool end_some(size_t most);

  uint32_t size() const { return size_; }
  uint32_t room() const { return options_.room; }
  uint64_t packets() const { return packets_; }  // of flows that are there
  uint64_t forced() const { return forced_; }    // flows that went for want of room
  uint64_t bytes() const;                        // of memory

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Links {
    uint32_t before = kNone, after = kNone;
  };
  struct Entry {
    IpfixFlow flow;
    uint64_t packets = 0, bytes = 0, first_ms = 0, last_ms = 0;
    uint32_t hash = 0, next = kNone;  // of the same bucket, or of those that are free
    Links by_use, by_age;
    uint8_t traffic_class = 0, tcp_flags = 0;
  };
  struct List {  // the oldest in front
    uint32_t front = kNone, back = kNone;
  };

  uint32_t hash_of(const IpfixFlow& flow) const;
  uint32_t* bucket(uint32_t hash) { return &buckets_[hash & (buckets_.size() - 1)]; }
  uint32_t insert(const IpfixFlow& flow, uint32_t hash, uint64_t now_ms);
  void end(uint32_t at, FlowEnd why);
  void append(List& list, Links Entry::*links, uint32_t at);
  void remove(List& list, Links Entry::*links, uint32_t at);
  void grow_buckets();

  Options options_;
  const Export out_;
  uint64_t secret_[4];
  std::vector<Entry> entries_;  // as many as were needed at once
  std::vector<uint32_t> buckets_;
  List by_use_, by_age_;
  uint32_t free_ = kNone, size_ = 0;
  uint64_t packets_ = 0, forced_ = 0;
};

}  // namespace hecto::router
