// DPDK's look-up structures, and the choice by name.
#include <fmt/format.h>

#include <cstring>

#include "bench/lookup/hecto_engine.hpp"
#include "router/dataplane/core/dpdk.hpp"
// After dpdk.hpp, which knows what has to come first.
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_lpm.h>
#include <rte_lpm6.h>

namespace hecto::bench {
namespace {

using lookup::GroupId;

// Room to change routes in.
uint32_t node_count(uint32_t nodes) {
  return nodes + nodes / 4 + 256;
}
uint32_t route_count(const EngineSize& size) {
  return size.routes + 1024;
}
int socket() {
  return static_cast<int>(rte_socket_id());
}

// DPDK takes addresses that are not const, and reads them.
uint32_t* raw(const uint32_t* destinations) {
  return const_cast<uint32_t*>(destinations);
}
uint32_t raw(const lookup::Ipv4Address& address) {
  return address.value;
}
// Sixteen bytes, of a type of their own from DPDK 24.11 on.
#if RTE_VERSION >= RTE_VERSION_NUM(24, 11, 0, 0)
using Address6 = rte_ipv6_addr;
const rte_ipv6_addr* raw(const lookup::Ipv6Address& address) {
  return reinterpret_cast<const rte_ipv6_addr*>(&address);
}
#else
using Address6 = uint8_t[16];
const uint8_t* raw(const lookup::Ipv6Address& address) {
  return address.bytes.data();
}
#endif
Address6* raw(const lookup::Ipv6Address* destinations) {
  return reinterpret_cast<Address6*>(const_cast<lookup::Ipv6Address*>(destinations));
}

// An entry keeps a bit for itself, the rest is a next hop or a node's number. Groups always fit.
constexpr uint32_t kMostOfTwoBytes = (1u << 15) - 1;
unsigned bytes_for(uint32_t nodes) {
  return nodes <= kMostOfTwoBytes ? 2 : 4;
}
uint32_t fib_nodes(const EngineSize& size) {
  return node_count(size.extension_nodes);
}
// rte_fib6 reserves more for a route that comes back than it gave back for the one that went: after
// enough changes it takes none any more, however few nodes are in use.
uint32_t fib6_nodes(const EngineSize& size) {
  return node_count(size.reserved_nodes + size.changes);
}

// The libraries' functions under one name each.
template <rte_fib_lookup_type kLookup>
struct RteFib {
  using Family = Ipv4;
  using Table = rte_fib;
  using NextHop = uint64_t;
  static Table* create(const char* name, const EngineSize& size) {
    rte_fib_conf configuration{};
    configuration.type = RTE_FIB_DIR24_8;
    configuration.default_nh = lookup::kNoRoute;
    configuration.max_routes = static_cast<int>(route_count(size));
    configuration.dir24_8.nh_sz = entry_bytes(size) == 2 ? RTE_FIB_DIR24_8_2B : RTE_FIB_DIR24_8_4B;
    configuration.dir24_8.num_tbl8 = fib_nodes(size);
    return rte_fib_create(name, socket(), &configuration);
  }
  static unsigned entry_bytes(const EngineSize& size) { return bytes_for(fib_nodes(size)); }
  static bool select(Table* table) { return rte_fib_select_lookup(table, kLookup) == 0; }
  static constexpr auto free = rte_fib_free;
  static constexpr auto add = rte_fib_add;
  static constexpr auto remove = rte_fib_delete;
  static constexpr auto lookup = rte_fib_lookup_bulk;
  static GroupId group(NextHop next_hop) { return static_cast<GroupId>(next_hop); }
};

template <rte_fib6_lookup_type kLookup>
struct RteFib6 {
  using Family = Ipv6;
  using Table = rte_fib6;
  using NextHop = uint64_t;
  static Table* create(const char* name, const EngineSize& size) {
    rte_fib6_conf configuration{};
    configuration.type = RTE_FIB6_TRIE;
    configuration.default_nh = lookup::kNoRoute;
    configuration.max_routes = static_cast<int>(route_count(size));
    configuration.trie.nh_sz = entry_bytes(size) == 2 ? RTE_FIB6_TRIE_2B : RTE_FIB6_TRIE_4B;
    configuration.trie.num_tbl8 = fib6_nodes(size);
    return rte_fib6_create(name, socket(), &configuration);
  }
  static unsigned entry_bytes(const EngineSize& size) { return bytes_for(fib6_nodes(size)); }
  static bool select(Table* table) { return rte_fib6_select_lookup(table, kLookup) == 0; }
  static constexpr auto free = rte_fib6_free;
  static constexpr auto add = rte_fib6_add;
  static constexpr auto remove = rte_fib6_delete;
  static constexpr auto lookup = rte_fib6_lookup_bulk;
  static GroupId group(NextHop next_hop) { return static_cast<GroupId>(next_hop); }
};

// Refuses a default route, as no full table has one.
struct RteLpm {
  using Family = Ipv4;
  using Table = rte_lpm;
  using NextHop = uint32_t;
  static Table* create(const char* name, const EngineSize& size) {
    rte_lpm_config configuration{};
    configuration.max_rules = route_count(size);
    configuration.number_tbl8s = node_count(size.extension_nodes);
    return rte_lpm_create(name, socket(), &configuration);
  }
  static unsigned entry_bytes(const EngineSize&) { return 4; }
  static bool select(Table*) { return true; }
  static constexpr auto free = rte_lpm_free;
  static constexpr auto add = rte_lpm_add;
  static constexpr auto remove = rte_lpm_delete;
  static void lookup(const Table* table, const uint32_t* destinations, NextHop* next_hops, int n) {
    int i = 0;
    for (; i + 4 <= n; i += 4) {
      xmm_t four;
      std::memcpy(&four, destinations + i, sizeof four);
      rte_lpm_lookupx4(table, four, next_hops + i, lookup::kNoRoute);
    }
    for (; i < n; ++i)
      if (rte_lpm_lookup(table, destinations[i], next_hops + i) != 0)
        next_hops[i] = lookup::kNoRoute;
  }
  static GroupId group(NextHop next_hop) { return static_cast<GroupId>(next_hop); }
};

struct RteLpm6 {
  using Family = Ipv6;
  using Table = rte_lpm6;
  using NextHop = int32_t;
  static Table* create(const char* name, const EngineSize& size) {
    rte_lpm6_config configuration{};
    configuration.max_rules = route_count(size);
    configuration.number_tbl8s = node_count(size.extension_nodes);
    return rte_lpm6_create(name, socket(), &configuration);
  }
  static unsigned entry_bytes(const EngineSize&) { return 4; }
  static bool select(Table*) { return true; }
  static constexpr auto free = rte_lpm6_free;
  static constexpr auto add = rte_lpm6_add;
  static constexpr auto remove = rte_lpm6_delete;
  static void lookup(const Table* table, Address6* destinations, NextHop* next_hops, int n) {
    rte_lpm6_lookup_bulk_func(table, destinations, next_hops, static_cast<unsigned>(n));
  }
  static GroupId group(NextHop next_hop) {
    return next_hop < 0 ? lookup::kNoRoute : static_cast<GroupId>(next_hop);
  }
};

template <typename Api>
class RteEngine final : public Engine<typename Api::Family> {
 public:
  using Base = Engine<typename Api::Family>;
  using typename Base::Destination;
  using typename Base::Prefix;

  static Result<std::unique_ptr<Base>> create(const std::string& name, const EngineSize& size) {
    std::unique_ptr<RteEngine> engine(new RteEngine(size));
    engine->table_ = Api::create(name.c_str(), size);
    if (engine->table_ == nullptr)
      return fail(fmt::format("{}: {}", name, rte_strerror(rte_errno)), rte_errno);
    if (!Api::select(engine->table_))
      return fail("its look-up function is not for this CPU or not in this DPDK", ENOTSUP);
    return engine;
  }
  ~RteEngine() override { Api::free(table_); }

  bool add(const Prefix& prefix, GroupId group) override {
    return Api::add(table_, raw(prefix.address), prefix.length, group) == 0;
  }
  bool remove(const Prefix& prefix) override {
    return Api::remove(table_, raw(prefix.address), prefix.length) == 0;
  }
  void lookup(const Destination* destinations, unsigned n) noexcept override {
    Api::lookup(table_, raw(destinations), next_hops_.data(), static_cast<int>(n));
  }
  GroupId group(unsigned i) const noexcept override { return Api::group(next_hops_[i]); }
  uint64_t bytes() const override {
    return ((uint64_t{1} << 24) + uint64_t{nodes_} * 256) * entry_bytes_;
  }
  unsigned entry_bytes() const override { return entry_bytes_; }

 private:
  explicit RteEngine(const EngineSize& size)
      : nodes_(size.extension_nodes),
        entry_bytes_(Api::entry_bytes(size)),
        next_hops_(size.batch) {}

  uint32_t nodes_;
  unsigned entry_bytes_;
  std::vector<typename Api::NextHop> next_hops_;
  typename Api::Table* table_ = nullptr;
};

template <typename Family>
Result<std::unique_ptr<Engine<Family>>> make_hecto(const EngineSize& size) {
  auto engine = HectoEngine<Family>::create(size.batch);
  if (!engine) return tl::unexpected(engine.error());
  return std::move(*engine);
}

}  // namespace

bool cpu_runs(const std::string& name) {
  if (!name.ends_with("_avx512")) return true;
#ifdef RTE_ARCH_X86
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw");
#else
  return false;
#endif
}

template <>
const std::vector<std::string>& engine_names<Ipv4>() {
  static const std::vector<std::string> names = {"hecto", "rte_fib", "rte_fib_avx512", "rte_lpm"};
  return names;
}

template <>
const std::vector<std::string>& engine_names<Ipv6>() {
  static const std::vector<std::string> names = {"hecto", "rte_fib6", "rte_fib6_avx512",
                                                 "rte_lpm6"};
  return names;
}

template <>
Result<std::unique_ptr<Engine<Ipv4>>> make_engine<Ipv4>(const std::string& name,
                                                        const EngineSize& size) {
  using Scalar = RteFib<RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO>;
  using Avx512 = RteFib<RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512>;
  if (name == "rte_fib") return RteEngine<Scalar>::create(name, size);
  if (name == "rte_fib_avx512") return RteEngine<Avx512>::create(name, size);
  if (name == "rte_lpm") return RteEngine<RteLpm>::create(name, size);
  return make_hecto<Ipv4>(size);
}

template <>
Result<std::unique_ptr<Engine<Ipv6>>> make_engine<Ipv6>(const std::string& name,
                                                        const EngineSize& size) {
  using Scalar = RteFib6<RTE_FIB6_LOOKUP_TRIE_SCALAR>;
  using Avx512 = RteFib6<RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512>;
  if (name == "rte_fib6") return RteEngine<Scalar>::create(name, size);
  if (name == "rte_fib6_avx512") return RteEngine<Avx512>::create(name, size);
  if (name == "rte_lpm6") return RteEngine<RteLpm6>::create(name, size);
  return make_hecto<Ipv6>(size);
}

}  // namespace hecto::bench
