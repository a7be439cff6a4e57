#include "router/dataplane/tables/inherited_tables.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "lookup/arena_header.hpp"
#include "router/process/service/service_manager.hpp"

namespace hecto::router {
namespace {

constexpr char kPrefix[] = "table-";

// Of the header's words before the checksum, as Arena writes it.
bool sound(const lookup::ArenaHeader& header) {
  uint32_t words[sizeof header / 4];
  std::memcpy(words, &header, sizeof header);
  uint32_t sum = 2166136261u;
  for (size_t i = 0; i < offsetof(lookup::ArenaHeader, checksum) / 4; ++i)
    sum = (sum ^ words[i]) * 16777619u;
  return sum == header.checksum;
}

bool is_arena(const void* data, size_t bytes, std::initializer_list<uint32_t> magics) {
  lookup::ArenaHeader header;
  std::memcpy(&header, data, sizeof header);
  const bool known = std::find(magics.begin(), magics.end(), header.magic) != magics.end();
  return known && sound(header) && size_t{header.words} * 4 <= bytes;
}

// Every group leads to a record, and every set of them to buckets that lead to groups.
bool leads_nowhere_else(const lookup::NextHopView& view, uint32_t groups, size_t records,
                        size_t buckets) {
  for (uint32_t group = 0; group < groups; ++group) {
    if (view.slots[group] >= records) return false;
    const lookup::NextHopRecord& record = view.records[view.slots[group]];
    if (record.kind != lookup::RecordKind::kMultipath) continue;
    if (size_t{record.bucket_offset} + record.bucket_mask >= buckets) return false;
    for (uint32_t i = 0; i <= record.bucket_mask; ++i)
      if (view.buckets[record.bucket_offset + i] >= groups) return false;
  }
  return true;
}

}  // namespace

Result<std::shared_ptr<const InheritedTables>> InheritedTables::take(
    ServiceManager& service, const std::string& run, const std::vector<int>& sockets,
    uint32_t groups) {
  std::shared_ptr<InheritedTables> tables(new InheritedTables(service));
  for (const std::string& name : service.kept()) {
    if (!name.starts_with(kPrefix)) continue;
    if (run.empty() || !name.starts_with(kPrefix + run + "-")) {
      service.forget(name);
      (void)service.take(name);
      continue;
    }
    if (auto done = tables->map(name, service.take(name)); !done)
      return tl::unexpected(done.error());
  }
  if (tables->blocks_.empty()) return std::shared_ptr<const InheritedTables>();
  for (const int socket : sockets)
    if (auto done = tables->assemble(run, socket, groups); !done)
      return tl::unexpected(done.error());
  return std::shared_ptr<const InheritedTables>(std::move(tables));
}

InheritedTables::~InheritedTables() {
  for (const auto& [name, block] : blocks_)
    if (block.data != nullptr) munmap(const_cast<void*>(block.data), block.bytes);
}

void InheritedTables::forget() const {
  for (const auto& [name, block] : blocks_) service_.forget(name);
}

Result<void> InheritedTables::map(const std::string& name, FileDescriptor file) {
  Block& block = blocks_[name];
  struct stat is {};
  if (fstat(file.get(), &is) != 0 || is.st_size <= 0) return fail(name + ": empty");
  void* data = mmap(nullptr, static_cast<size_t>(is.st_size), PROT_READ, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) return fail(fmt::format("{}: {}", name, std::strerror(errno)), errno);
  block = {data, static_cast<size_t>(is.st_size)};
  return {};
}

Result<void> InheritedTables::assemble(const std::string& run, int socket, uint32_t groups) {
  const auto blocks_of = [&](const char* table) {
    std::vector<Block> found;
    for (const auto& [name, block] : blocks_)
      if (name.starts_with(fmt::format("{}{}-{}-{}-", kPrefix, run, table, socket)))
        found.push_back(block);
    return found;
  };
  const auto fib4 = blocks_of("fib4"), fib6 = blocks_of("fib6"), hops = blocks_of("nexthops"),
             urpf = blocks_of("urpf");
  if (fib4.size() != 1 || fib6.size() != 1 || hops.size() != 3 || urpf.size() != 1)
    return fail(fmt::format("not all of socket {} are there, or two of one", socket));
  if (!is_arena(fib4[0].data, fib4[0].bytes, {lookup::kDirectMagic, lookup::kTrie4Magic}) ||
      !is_arena(fib6[0].data, fib6[0].bytes, {lookup::kTrie6Magic}))
    return fail("a FIB's header is damaged");
  Replica& replica = replicas_[socket];
  replica.arena4 = static_cast<const uint32_t*>(fib4[0].data);
  replica.arena6 = static_cast<const uint32_t*>(fib6[0].data);
  replica.next_hops = {static_cast<const uint32_t*>(hops[0].data),
                       static_cast<const lookup::NextHopRecord*>(hops[1].data),
                       static_cast<const lookup::GroupId*>(hops[2].data)};
  replica.urpf.words = static_cast<const uint64_t*>(urpf[0].data);
  const bool fits = hops[0].bytes >= groups * sizeof(uint32_t) &&
                    urpf[0].bytes >= size_t{groups} * UrpfView::kWords * sizeof(uint64_t);
  if (!fits ||
      !leads_nowhere_else(replica.next_hops, groups, hops[1].bytes / sizeof(lookup::NextHopRecord),
                          hops[2].bytes / sizeof(lookup::GroupId)))
    return fail("the next hops are damaged");
  return {};
}

TableViews InheritedTables::views(int socket) const {
  const auto found = replicas_.find(socket);
  const Replica& replica = found == replicas_.end() ? replicas_.begin()->second : found->second;
  return {{&replica.arena4, 0}, {&replica.arena6, 0}, replica.next_hops, replica.urpf};
}

}  // namespace hecto::router
