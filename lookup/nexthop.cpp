#include "lookup/nexthop.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <map>

#include "lookup/bucket_ranges.hpp"
#include "lookup/memory_block.hpp"
#include "lookup/resilient.hpp"

namespace hecto::lookup {
namespace {

constexpr uint32_t kNoRouteRecord = 0;  // also that of every group not set yet

struct Replica {
  int socket;
  MemoryBlock slots_block, records_block, buckets_block;
  uint32_t* slots;
  NextHopRecord* records;
  GroupId* buckets;
};

// What returns to its free list after a grace period.
struct Retired {
  enum class What : uint8_t { kGroup, kRecord, kBuckets } what;
  uint32_t first;
  uint32_t count;
  uint64_t token;
};

struct Group {
  bool used = false;
  uint32_t member_of = 0;        // groups whose buckets name this one
  std::vector<GroupId> members;  // kMultipath only, sorted
};

}  // namespace

struct NextHopTable::State {
  State(const NextHopOptions& options, Reclaimer& quiescence)
      : reclaimer(quiescence),
        groups(std::clamp<uint32_t>(options.max_groups, 1, kMaxGroupId + 1)),
        record_count(2 * static_cast<uint32_t>(groups.size()) + 64),
        bucket_ranges(options.max_buckets) {}

  bool allocate(const NextHopOptions& options, Memory& memory);
  bool is_used(GroupId group) const { return group < groups.size() && groups[group].used; }
  bool is_multipath(GroupId group) const { return record(group).kind == RecordKind::kMultipath; }
  const NextHopRecord& record(GroupId group) const {
    const Replica& replica = replicas.front();
    return replica.records[replica.slots[group]];
  }
  bool have_record();
  std::optional<uint32_t> take_buckets(uint32_t count);
  void write_slot(GroupId group, uint32_t record_index);
  void put(GroupId group, const NextHopRecord& content);
  void retire(Retired::What what, uint32_t first, uint32_t count) {
    retired.push_back({what, first, count, reclaimer.start()});
  }
  void set_membership(GroupId group, std::vector<GroupId> members);
  void reclaim();

  Reclaimer& reclaimer;
  std::vector<Replica> replicas;
  std::vector<Group> groups;
  uint32_t groups_used = 0;
  uint32_t next_group = 0;  // never used so far
  std::vector<GroupId> free_groups;
  uint32_t record_count;
  uint32_t next_record = kNoRouteRecord + 1;
  std::vector<uint32_t> free_records;
  BucketRanges bucket_ranges;
  std::deque<Retired> retired;  // in the order of their tokens
};

bool NextHopTable::State::allocate(const NextHopOptions& options, Memory& memory) {
  NextHopRecord no_route{};
  no_route.kind = options.no_route_kind;
  no_route.reason = options.no_route_reason;
  for (int socket : options.sockets) {
    Replica replica{socket,
                    MemoryBlock(memory, groups.size() * sizeof(uint32_t), socket),
                    MemoryBlock(memory, record_count * sizeof(NextHopRecord), socket),
                    MemoryBlock(memory, bucket_ranges.size() * sizeof(GroupId) + 1, socket),
                    nullptr,
                    nullptr,
                    nullptr};
    replica.slots = replica.slots_block.as<uint32_t>();
    replica.records = replica.records_block.as<NextHopRecord>();
    replica.buckets = replica.buckets_block.as<GroupId>();
    if (!replica.slots || !replica.records || !replica.buckets) return false;
    replica.records[kNoRouteRecord] = no_route;
    replicas.push_back(std::move(replica));
  }
  return !replicas.empty();
}

bool NextHopTable::State::have_record() {
  auto available = [this] { return !free_records.empty() || next_record < record_count; };
  if (!available()) reclaim();
  return available();
}

std::optional<uint32_t> NextHopTable::State::take_buckets(uint32_t count) {
  auto first = bucket_ranges.take(count);
  if (first) return first;
  reclaim();
  return bucket_ranges.take(count);
}

// Points the group to another record; the old record and its buckets go after a grace period.
void NextHopTable::State::write_slot(GroupId group, uint32_t record_index) {
  uint32_t old_index = replicas.front().slots[group];
  const NextHopRecord old = record(group);
  for (Replica& replica : replicas) {
    __atomic_store_n(&replica.slots[group], record_index, __ATOMIC_RELEASE);
  }
  if (old_index == kNoRouteRecord) return;
  retire(Retired::What::kRecord, old_index, 1);
  if (old.kind == RecordKind::kMultipath) {
    retire(Retired::What::kBuckets, old.bucket_offset, old.bucket_mask + 1u);
  }
}

void NextHopTable::State::put(GroupId group, const NextHopRecord& content) {
  uint32_t index;
  if (free_records.empty()) {
    index = next_record++;
  } else {
    index = free_records.back();
    free_records.pop_back();
  }
  for (Replica& replica : replicas) replica.records[index] = content;
  write_slot(group, index);
}

void NextHopTable::State::set_membership(GroupId group, std::vector<GroupId> members) {
  for (GroupId member : groups[group].members) --groups[member].member_of;
  groups[group].members = std::move(members);
  for (GroupId member : groups[group].members) ++groups[member].member_of;
}

void NextHopTable::State::reclaim() {
  while (!retired.empty() && reclaimer.passed(retired.front().token)) {
    const Retired& block = retired.front();
    switch (block.what) {
      case Retired::What::kGroup:
        free_groups.push_back(static_cast<GroupId>(block.first));
        break;
      case Retired::What::kRecord:
        free_records.push_back(block.first);
        break;
      case Retired::What::kBuckets:
        bucket_ranges.give_back(block.first, block.count);
        break;
    }
    retired.pop_front();
  }
}

NextHopTable::NextHopTable() = default;
NextHopTable::~NextHopTable() = default;

tl::expected<std::unique_ptr<NextHopTable>, Error> NextHopTable::create(
    const NextHopOptions& options, Memory& memory, Reclaimer& reclaimer) {
  std::unique_ptr<NextHopTable> table(new NextHopTable);
  table->state_ = std::make_unique<State>(options, reclaimer);
  if (!table->state_->allocate(options, memory)) return tl::unexpected(Error::kNoMemory);
  (void)table->allocate();  // kNoRoute, which stays
  return table;
}

tl::expected<GroupId, Error> NextHopTable::allocate() {
  State& state = *state_;
  if (state.free_groups.empty() && state.next_group == state.groups.size()) state.reclaim();
  GroupId group;
  if (!state.free_groups.empty()) {
    group = state.free_groups.back();
    state.free_groups.pop_back();
  } else if (state.next_group < state.groups.size()) {
    group = static_cast<GroupId>(state.next_group++);
  } else {
    return tl::unexpected(Error::kTableFull);
  }
  state.groups[group].used = true;
  ++state.groups_used;
  return group;
}

tl::expected<void, Error> NextHopTable::release(GroupId group) {
  State& state = *state_;
  if (!state.is_used(group) || group == kNoRoute) return tl::unexpected(Error::kUnknownGroup);
  if (state.groups[group].member_of != 0) return tl::unexpected(Error::kBadGroup);
  state.write_slot(group, kNoRouteRecord);
  state.set_membership(group, {});
  state.groups[group].used = false;
  --state.groups_used;
  state.retire(Retired::What::kGroup, group, 1);
  return {};
}

tl::expected<void, Error> NextHopTable::set(GroupId group, const NextHopRecord& record) {
  State& state = *state_;
  if (!state.is_used(group)) return tl::unexpected(Error::kUnknownGroup);
  if (record.kind > RecordKind::kReceive || record.kind == RecordKind::kMultipath ||
      record.header_length > sizeof(record.header) ||
      record.label_count > sizeof(record.labels) / sizeof(record.labels[0])) {
    return tl::unexpected(Error::kBadGroup);
  }
  if (!state.have_record()) return tl::unexpected(Error::kTableFull);
  state.put(group, record);
  state.set_membership(group, {});
  return {};
}

tl::expected<void, Error> NextHopTable::set_members(GroupId group,
                                                    std::span<const WeightedMember> members,
                                                    std::span<const GroupId> before) {
  State& state = *state_;
  if (!state.is_used(group)) return tl::unexpected(Error::kUnknownGroup);
  if (members.empty() || group == kNoRoute || state.groups[group].member_of != 0) {
    return tl::unexpected(Error::kBadGroup);
  }
  std::map<GroupId, uint32_t> weights;
  for (const WeightedMember& member : members) {
    if (!state.is_used(member.group)) return tl::unexpected(Error::kUnknownGroup);
    if (member.group == group || member.weight == 0 || member.weight > kMaxWeight ||
        state.is_multipath(member.group)) {
      return tl::unexpected(Error::kBadGroup);
    }
    weights[member.group] += member.weight;
  }
  if (!before.empty() && (!std::has_single_bit(before.size()) || before.size() > kMaxGroupBuckets))
    return tl::unexpected(Error::kBadGroup);
  const std::vector<GroupId> old = buckets(group);
  const std::vector<GroupId> fresh =
      assign_buckets(weights, old.empty() ? std::vector(before.begin(), before.end()) : old);
  return write_buckets(group, fresh);
}

// Such groups are large: beyond half of all buckets they are refused, so that others find room.
tl::expected<void, Error> NextHopTable::set_buckets(GroupId group,
                                                    std::span<const GroupId> buckets) {
  State& state = *state_;
  if (!state.is_used(group)) return tl::unexpected(Error::kUnknownGroup);
  if (!std::has_single_bit(buckets.size()) || buckets.size() > kMaxGroupBuckets ||
      group == kNoRoute || state.groups[group].member_of != 0)
    return tl::unexpected(Error::kBadGroup);
  for (const GroupId member : buckets) {
    if (!state.is_used(member)) return tl::unexpected(Error::kUnknownGroup);
    if (member == group || state.is_multipath(member)) return tl::unexpected(Error::kBadGroup);
  }
  const NextHopRecord& now = state.record(group);
  const bool in_place =
      now.kind == RecordKind::kMultipath && now.bucket_mask + size_t{1} == buckets.size();
  if (!in_place && state.bucket_ranges.left() < buckets.size() + state.bucket_ranges.size() / 2) {
    state.reclaim();
    if (state.bucket_ranges.left() < buckets.size() + state.bucket_ranges.size() / 2)
      return tl::unexpected(Error::kTableFull);
  }
  return write_buckets(group, buckets);
}

// In place where their number is the same, so that only what differs is written.
tl::expected<void, Error> NextHopTable::write_buckets(GroupId group,
                                                      std::span<const GroupId> fresh) {
  State& state = *state_;
  const std::vector<GroupId> old = buckets(group);
  if (fresh.size() == old.size()) {
    uint32_t offset = state.record(group).bucket_offset;
    for (Replica& replica : state.replicas) {
      for (size_t i = 0; i < fresh.size(); ++i) {
        if (fresh[i] == old[i]) continue;
        std::atomic_ref(replica.buckets[offset + i]).store(fresh[i], std::memory_order_release);
      }
    }
  } else {
    if (!state.have_record()) return tl::unexpected(Error::kTableFull);
    auto first = state.take_buckets(static_cast<uint32_t>(fresh.size()));
    if (!first) return tl::unexpected(Error::kTableFull);
    for (Replica& replica : state.replicas) {
      std::copy(fresh.begin(), fresh.end(), replica.buckets + *first);
    }
    NextHopRecord record{};
    record.kind = RecordKind::kMultipath;
    record.bucket_mask = static_cast<uint16_t>(fresh.size() - 1);
    record.bucket_offset = *first;
    state.put(group, record);
  }
  std::vector<GroupId> ids(fresh.begin(), fresh.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  state.set_membership(group, std::move(ids));
  return {};
}

NextHopRecord NextHopTable::get(GroupId group) const {
  const State& state = *state_;
  if (group >= state.groups.size()) return state.record(kNoRoute);
  return state.record(group);
}

std::vector<GroupId> NextHopTable::buckets(GroupId group) const {
  const State& state = *state_;
  if (!state.is_used(group) || !state.is_multipath(group)) return {};
  const NextHopRecord& record = state.record(group);
  const GroupId* first = state.replicas.front().buckets + record.bucket_offset;
  return {first, first + record.bucket_mask + 1};
}

void NextHopTable::reclaim() {
  state_->reclaim();
}

NextHopView NextHopTable::view(int socket) const {
  const auto& replicas = state_->replicas;
  auto found = std::find_if(replicas.begin(), replicas.end(),
                            [&](const Replica& replica) { return replica.socket == socket; });
  const Replica& replica = found == replicas.end() ? replicas.front() : *found;
  return {replica.slots, replica.records, replica.buckets};
}

uint32_t NextHopTable::groups_used() const {
  return state_->groups_used;
}

}  // namespace hecto::lookup
