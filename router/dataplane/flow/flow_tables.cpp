#include "router/dataplane/flow/flow_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace hecto::router {
namespace {

using lookup::Family;

constexpr uint32_t kActionSlack = 1024;
constexpr unsigned kAskedEvery = 128;  // entries between two looks at the clock

}  // namespace

FlowTables::FlowTables(const Options& options, lookup::Memory& memory, lookup::Reclaimer& readers)
    : options_(options),
      ipv4_({options.entries, options.socket, options.seed}, memory, readers),
      ipv6_({options.entries, options.socket, options.seed}, memory, readers),
      actions_(ipv4_.slots() + kActionSlack, options.socket, memory, readers),
      bases4_(memory, ipv4_.slots() * sizeof(FlowCount), options.socket),
      bases6_(memory, ipv6_.slots() * sizeof(FlowCount), options.socket) {
  for (unsigned i = 0; i < options.threads; ++i) {
    auto thread = std::make_unique<FlowThread>();
    thread->cells4 = cells_.emplace_back(memory, ipv4_.slots() * sizeof(FlowCell), options.socket)
                         .as<FlowCell>();
    thread->cells6 = cells_.emplace_back(memory, ipv6_.slots() * sizeof(FlowCell), options.socket)
                         .as<FlowCell>();
    threads_.push_back(std::move(thread));
  }
}

bool FlowTables::has_memory() const {
  const bool cells =
      std::all_of(cells_.begin(), cells_.end(),
                  [](const lookup::MemoryBlock& block) { return block.as<FlowCell>() != nullptr; });
  return cells && ipv4_.room() != 0 && ipv6_.room() != 0 && actions_.data() != nullptr &&
         bases4_.as<FlowCount>() != nullptr && bases6_.as<FlowCount>() != nullptr;
}

Result<std::shared_ptr<FlowTables>> FlowTables::create(const Options& options,
                                                       lookup::Memory& memory,
                                                       lookup::Reclaimer& readers) {
  std::shared_ptr<FlowTables> made(new FlowTables(options, memory, readers));
  if (!made->has_memory())
    return fail(
        fmt::format("flows: no memory for {} entries; lower flows.entries", options.entries),
        ENOMEM);
  return made;
}

// ---- Control ----

template <typename Key>
Result<void> FlowTables::set_one(FlowTable<Key>& table, const Key& key, const Key& mask,
                                 const FlowOrder& order) {
  if (size() >= options_.entries && table.index_of(key, mask) == 0)
    return fail(fmt::format("flows: the table is full: it has {} entries; raise flows.entries, or "
                            "delete some",
                            size()),
                ENOSPC);
  const uint32_t action = actions_.take(order.action);
  if (action == FlowActions::kNone)
    return fail("flows: workers still read what was deleted last; try again", EAGAIN);
  const uint32_t end = table.end();
  const auto change = table.set(
      key, mask, {order.priority, action, order.idle_s, order.hard_s, now_s(), order.needs});
  if (!change) {
    actions_.give_back(action);
    return tl::unexpected(change.error());
  }
  const FlowId id{order.family, change->index};
  base(id) = change->index < end ? raw(id) : FlowCount{};
  done_.push_back({id, change->replaced});
  return {};
}

void FlowTables::undo_last() {
  const Done done = done_.back();
  done_.pop_back();
  actions_.give_back(action_of(done.id));
  if (done.id.family == Family::kIpv4)
    ipv4_.undo({done.id.index, done.replaced});
  else
    ipv6_.undo({done.id.index, done.replaced});
}

Result<void> FlowTables::set(std::span<const FlowOrder> orders, size_t* which) {
  done_.clear();
  Result<void> result;
  for (size_t i = 0; i < orders.size() && result; ++i) {
    const FlowOrder& order = orders[i];
    result = order.family == Family::kIpv4 ? set_one(ipv4_, order.key4, order.mask4, order)
                                           : set_one(ipv6_, order.key6, order.mask6, order);
    if (!result && which != nullptr) *which = i;
  }
  if (!result) {
    while (!done_.empty()) undo_last();
  } else {
    for (const Done& done : done_)
      if (done.replaced != 0) forget({done.id.family, done.replaced});
  }
  commit();
  return result;
}

std::optional<FlowId> FlowTables::find(const FlowOrder& match) const {
  const uint32_t index = match.family == Family::kIpv4 ? ipv4_.index_of(match.key4, match.mask4)
                                                       : ipv6_.index_of(match.key6, match.mask6);
  return index == 0 ? std::nullopt : std::optional(FlowId{match.family, index});
}

// What is not the table's own of an entry that goes.
void FlowTables::forget(const FlowId& id) {
  if (gone_) gone_(id);
  actions_.give_back(action_of(id));
}

void FlowTables::erase(const FlowId& id) {
  forget(id);
  id.family == Family::kIpv4 ? ipv4_.erase(id.index) : ipv6_.erase(id.index);
}

size_t FlowTables::erase_all() {
  const size_t all = size();
  for (auto id = next({Family::kIpv4, 1}); id; id = next({id->family, id->index + 1})) forget(*id);
  ipv4_.erase_all();
  ipv6_.erase_all();
  commit();
  return all;
}

void FlowTables::commit() {
  ipv4_.commit();
  ipv6_.commit();
  actions_.commit();
}

void FlowTables::reclaim() {
  ipv4_.reclaim();
  ipv6_.reclaim();
  actions_.reclaim();
}

bool FlowTables::is_over(const FlowId& id) const {
  const uint32_t now = now_s();
  const auto over = [now](const auto& entry) {
    const uint32_t used = entry.used_s.load(std::memory_order_relaxed);
    return (entry.hard_s != 0 && now - entry.added_s >= entry.hard_s) ||
           (entry.idle_s != 0 && now - used >= entry.idle_s);
  };
  return id.family == Family::kIpv4 ? over(ipv4_.entry(id.index)) : over(ipv6_.entry(id.index));
}

size_t FlowTables::expire(const std::function<bool()>& may_go_on) {
  size_t gone = 0;
  unsigned looked = 0;
  std::optional<FlowId> id;
  while ((id = next(cursor_))) {
    cursor_ = {id->family, id->index + 1};
    if (is_over(*id)) {
      erase(*id);
      ++gone;
    }
    if (++looked % kAskedEvery == 0 && !may_go_on()) break;
  }
  if (!id) cursor_ = {Family::kIpv4, 1};
  expired_ += gone;
  if (gone > 0) commit();
  return gone;
}

// ---- What is there ----

std::optional<FlowId> FlowTables::next(FlowId from) const {
  if (from.family == Family::kIpv4) {
    for (uint32_t i = from.index; i < ipv4_.end(); ++i)
      if (ipv4_.is_live(i)) return FlowId{Family::kIpv4, i};
    from = {Family::kIpv6, 1};
  }
  for (uint32_t i = from.index; i < ipv6_.end(); ++i)
    if (ipv6_.is_live(i)) return FlowId{Family::kIpv6, i};
  return std::nullopt;
}

uint32_t FlowTables::action_of(const FlowId& id) const {
  return id.family == Family::kIpv4 ? ipv4_.entry(id.index).action : ipv6_.entry(id.index).action;
}

FlowCount& FlowTables::base(const FlowId& id) const {
  const lookup::MemoryBlock& bases = id.family == Family::kIpv4 ? bases4_ : bases6_;
  return bases.as<FlowCount>()[id.index];
}

FlowCount FlowTables::raw(const FlowId& id) const {
  FlowCount sum;
  for (const auto& thread : threads_) {
    const FlowCell& cell = (id.family == Family::kIpv4 ? thread->cells4 : thread->cells6)[id.index];
    sum.packets += cell.packets.get();
    sum.bytes += cell.bytes.get();
  }
  return sum;
}

FlowCount FlowTables::count(const FlowId& id) const {
  const FlowCount now = raw(id), before = base(id);
  return {now.packets - before.packets, now.bytes - before.bytes};
}

FlowTables::Status FlowTables::status(const FlowId& id) const {
  Status out;
  out.id = id;
  out.count = count(id);
  out.order.family = id.family;
  const auto take = [&](const auto& entry) {
    const uint32_t now = now_s();
    out.priority = entry.priority;
    out.idle_s = entry.idle_s;
    out.hard_s = entry.hard_s;
    out.age_s = now - entry.added_s;
    out.unused_s = now - entry.used_s.load(std::memory_order_relaxed);
    out.order.action = actions_[entry.action];
  };
  if (id.family == Family::kIpv4) {
    const auto& entry = ipv4_.entry(id.index);
    out.order.key4 = entry.key;
    out.order.mask4 = ipv4_.mask_of(entry);
    take(entry);
  } else {
    const auto& entry = ipv6_.entry(id.index);
    out.order.key6 = entry.key;
    out.order.mask6 = ipv6_.mask_of(entry);
    take(entry);
  }
  return out;
}

std::vector<FlowId> FlowTables::busiest(size_t most) const {
  std::vector<std::pair<uint64_t, FlowId>> top;  // a heap, the least on top
  const auto more = [](const auto& a, const auto& b) { return a.first > b.first; };
  for (auto id = next({Family::kIpv4, 1}); id; id = next({id->family, id->index + 1})) {
    const uint64_t packets = count(*id).packets;
    if (packets == 0 || (top.size() == most && packets <= top.front().first)) continue;
    if (top.size() == most) {
      std::pop_heap(top.begin(), top.end(), more);
      top.pop_back();
    }
    top.emplace_back(packets, *id);
    std::push_heap(top.begin(), top.end(), more);
  }
  std::sort_heap(top.begin(), top.end(), more);
  std::vector<FlowId> out;
  for (const auto& [packets, id] : top) out.push_back(id);
  return out;
}

uint64_t FlowTables::hits() const {
  uint64_t sum = 0;
  for (const auto& thread : threads_) sum += thread->hits.get();
  return sum;
}

uint64_t FlowTables::misses() const {
  uint64_t sum = 0;
  for (const auto& thread : threads_) sum += thread->misses.get();
  return sum;
}

uint32_t FlowTables::size(Family family) const {
  return family == Family::kIpv4 ? ipv4_.size() : ipv6_.size();
}

std::vector<FlowMaskStatus> FlowTables::masks(Family family) const {
  return family == Family::kIpv4 ? ipv4_.masks() : ipv6_.masks();
}

uint64_t FlowTables::bytes() const {
  const uint64_t cells = (threads_.size() + 1) * sizeof(FlowCell);
  return ipv4_.bytes() + ipv6_.bytes() + actions_.in_use() * sizeof(FlowAction) +
         (uint64_t{ipv4_.end()} + ipv6_.end()) * cells;
}

}  // namespace hecto::router
