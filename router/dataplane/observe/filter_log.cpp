#include "router/dataplane/observe/filter_log.hpp"

#include <algorithm>
#include <cstring>

namespace hecto::router {
namespace {

constexpr uint64_t kFirst_s = 1, kAgain_s = 10;
constexpr uint64_t kTicksPerSecond = 64;  // all flows are seen in a quarter of a second

uint64_t flow_hash_of(const FilterLogKey& key, uint64_t seed) noexcept {
  std::array<uint64_t, sizeof key / 8> words;
  std::memcpy(words.data(), &key, sizeof key);
  uint64_t hash = seed;
  for (const uint64_t word : words) hash = std::rotl((hash ^ word) * 0x9e3779b97f4a7c15, 29);
  return hash ^ hash >> 32;
}

}  // namespace

FilterLogTap::FilterLogTap(uint64_t tsc_hz)
    : hz_(tsc_hz), memory_(new std::byte[(kFlows + 1) * sizeof(Flow)]), ring_(kRing_bytes) {}

void FilterLogTap::begin(uint64_t now) noexcept {
  void* at = memory_.get();
  size_t room = (kFlows + 1) * sizeof(Flow);
  flows_ = static_cast<Flow*>(std::align(alignof(Flow), kFlows * sizeof(Flow), at, room));
  std::uninitialized_value_construct_n(flows_, kFlows);
  seed_ = now;
}

void FilterLogTap::note(const FilterLogKey& key, uint64_t now) noexcept {
  if (flows_ == nullptr) begin(now);
  Flow* const set = &flows_[flow_hash_of(key, seed_) % kSets * kWays];
  Flow* place = nullptr;
  unsigned of_rule = 0;
  for (unsigned way = 0; way < kWays; ++way) {
    Flow& flow = set[way];
    if (flow.state == kFree) {
      place = &flow;
      continue;
    }
    if (flow.key == key) {
      ++flow.packets;
      return;
    }
    const bool quiet = flow.state == kKnown && flow.packets == 0;
    if (quiet && place == nullptr) place = &flow;
    if (!quiet) of_rule += flow.key.slot == key.slot;
  }
  if (place == nullptr || of_rule >= kWaysOfARule) {
    untold_.add(1);
    return;
  }
  *place = Flow{key, kNew, 1, now + kFirst_s * hz_};
}

void FilterLogTap::report(Flow& flow) noexcept {
  if (flow.packets == 0) return;
  const FilterLogRecord record{flow.key, flow.packets};
  if (std::byte* const entry = ring_.reserve(sizeof record); entry != nullptr) {
    std::memcpy(entry, &record, sizeof record);
  } else {
    lost_flows_.add(1);
    lost_packets_.add(flow.packets);
  }
  flow.packets = 0;
}

void FilterLogTap::tick(uint64_t now) noexcept {
  if (flows_ == nullptr || now < next_tick_) return;
  next_tick_ = now + hz_ / kTicksPerSecond;
  for (unsigned i = 0; i < kAtOnce; ++i, at_ = (at_ + 1) % kFlows) {
    Flow& flow = flows_[at_];
    if (flow.state == kFree || now < flow.due) continue;
    if (flow.packets == 0) {
      flow.state = kFree;
      continue;
    }
    report(flow);
    flow.state = kKnown;
    flow.due = now + kAgain_s * hz_;
  }
  ring_.publish();
}

void FilterLogTap::report_all() noexcept {
  if (flows_ == nullptr) return;
  for (unsigned i = 0; i < kFlows; ++i) {
    if (flows_[i].state == kFree) continue;
    report(flows_[i]);
    flows_[i].state = kFree;
  }
  ring_.publish();
}

}  // namespace hecto::router
