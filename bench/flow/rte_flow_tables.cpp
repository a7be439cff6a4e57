// DPDK's: rte_hash for entries of one mask, rte_acl for any.
#include <fmt/format.h>

#include <cstring>

#include "bench/flow/flow.hpp"
#include "router/dataplane/core/dpdk.hpp"
// After dpdk.hpp, which knows what has to come first.
#include <rte_acl.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>

namespace hecto::bench {
namespace {

using router::FilterKey4;

struct alignas(16) HashKey {
  uint8_t bytes[16];  // addresses, ports, protocol
};
HashKey hash_key(const FilterKey4& key) {
  HashKey out{};
  std::memcpy(out.bytes, key.source, 8);
  std::memcpy(out.bytes + 8, key.ports, 4);
  out.bytes[12] = key.protocol;
  return out;
}

// No locks, CRC32C, keys of 16 bytes, 64 at a time: its fastest.
class RteHash final : public FlowEngine {
 public:
  explicit RteHash(unsigned number) : number_(number) {}
  ~RteHash() override { rte_hash_free(hash_); }
  std::string name() const override { return "rte_hash"; }
  std::string load(const std::vector<BenchFlow>& flows) override {
    const std::string name = fmt::format("flows{}", number_);
    rte_hash_parameters parameters{};
    parameters.name = name.c_str();
    parameters.entries = static_cast<uint32_t>(flows.size() * 5 / 4 + 64);
    parameters.key_len = sizeof(HashKey);
    parameters.hash_func = rte_hash_crc;
    parameters.socket_id = static_cast<int>(rte_socket_id());
    hash_ = rte_hash_create(&parameters);
    if (hash_ == nullptr) return "no memory";
    for (const BenchFlow& flow : flows) {
      if (std::memcmp(&flow.mask, &flows[0].mask, sizeof flow.mask) != 0) return "one mask alone";
      const HashKey key = hash_key(flow.key);
      if (rte_hash_add_key(hash_, &key) < 0) return "no room";
    }
    return {};
  }
  void prepare(const std::vector<FilterKey4>& keys) override {
    keys_.clear();
    for (const FilterKey4& key : keys) keys_.push_back(hash_key(key));
  }
  unsigned find(size_t first, unsigned n) override {
    const void* pointers[64];
    int32_t places[64];
    for (unsigned i = 0; i < n; ++i) pointers[i] = &keys_[first + i];
    rte_hash_lookup_bulk(hash_, pointers, n, places);
    unsigned found = 0;
    for (unsigned i = 0; i < n; ++i) found += places[i] >= 0;
    return found;
  }

 private:
  const unsigned number_;
  rte_hash* hash_ = nullptr;
  std::vector<HashKey> keys_;
};

struct AclKey {
  uint8_t protocol, pad[3], source[4], destination[4], ports[4];
};
constexpr unsigned kFields = 5;
RTE_ACL_RULE_DEF(AclRule, kFields);

class RteAcl final : public FlowEngine {
 public:
  explicit RteAcl(unsigned number) : number_(number) {}
  ~RteAcl() override { rte_acl_free(context_); }
  std::string name() const override { return "rte_acl"; }
  std::string load(const std::vector<BenchFlow>& flows) override {
    constexpr size_t kMost = 40'000;  // seconds, and gigabytes, beyond
    if (flows.size() > kMost) return "too many to build";
    const std::string name = fmt::format("flows{}", number_);
    rte_acl_param parameters{};
    parameters.name = name.c_str();
    parameters.socket_id = static_cast<int>(rte_socket_id());
    parameters.rule_size = RTE_ACL_RULE_SZ(kFields);
    parameters.max_rule_num = static_cast<uint32_t>(flows.size());
    context_ = rte_acl_create(&parameters);
    if (context_ == nullptr) return "no memory";
    for (const BenchFlow& flow : flows) {
      AclRule rule{};
      rule.data.category_mask = 1;
      rule.data.priority = static_cast<int32_t>(flow.priority + 1);
      rule.data.userdata = 1;
      const auto word = [](const uint8_t* at) {
        uint32_t value = 0;
        std::memcpy(&value, at, 4);
        return __builtin_bswap32(value);
      };
      const auto half = [](const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); };
      rule.field[0].value.u8 = flow.key.protocol;
      rule.field[0].mask_range.u8 = flow.mask.protocol;
      rule.field[1].value.u32 = word(flow.key.source);
      rule.field[1].mask_range.u32 =
          static_cast<uint32_t>(__builtin_popcount(word(flow.mask.source)));
      rule.field[2].value.u32 = word(flow.key.destination);
      rule.field[2].mask_range.u32 =
          static_cast<uint32_t>(__builtin_popcount(word(flow.mask.destination)));
      for (unsigned i = 0; i < 2; ++i) {
        const bool any = flow.mask.ports[2 * i] == 0;
        rule.field[3 + i].value.u16 = any ? 0 : half(flow.key.ports + 2 * i);
        rule.field[3 + i].mask_range.u16 = any ? 0xffff : half(flow.key.ports + 2 * i);
      }
      if (rte_acl_add_rules(context_, reinterpret_cast<rte_acl_rule*>(&rule), 1) != 0)
        return "a rule was refused";
    }
    rte_acl_config config{};
    config.num_categories = 1;
    config.num_fields = kFields;
    const auto field = [&](uint8_t i, uint8_t type, uint8_t size, uint8_t input, size_t offset) {
      config.defs[i] = {type, size, i, input, static_cast<uint32_t>(offset)};
    };
    field(0, RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, offsetof(AclKey, protocol));
    field(1, RTE_ACL_FIELD_TYPE_MASK, 4, 1, offsetof(AclKey, source));
    field(2, RTE_ACL_FIELD_TYPE_MASK, 4, 2, offsetof(AclKey, destination));
    field(3, RTE_ACL_FIELD_TYPE_RANGE, 2, 3, offsetof(AclKey, ports));
    field(4, RTE_ACL_FIELD_TYPE_RANGE, 2, 3, offsetof(AclKey, ports) + 2);
    if (rte_acl_build(context_, &config) != 0) return "it could not be built";
    for (const auto algorithm : {RTE_ACL_CLASSIFY_AVX512X32, RTE_ACL_CLASSIFY_AVX2})
      if (rte_acl_set_ctx_classify(context_, algorithm) == 0) break;
    return {};
  }
  void prepare(const std::vector<FilterKey4>& keys) override {
    keys_.clear();
    for (const FilterKey4& key : keys) {
      AclKey out{};
      out.protocol = key.protocol;
      std::memcpy(out.source, key.source, 8);
      std::memcpy(out.ports, key.ports, 4);
      keys_.push_back(out);
    }
  }
  unsigned find(size_t first, unsigned n) override {
    const uint8_t* pointers[64];
    uint32_t results[64];
    for (unsigned i = 0; i < n; ++i)
      pointers[i] = reinterpret_cast<const uint8_t*>(&keys_[first + i]);
    rte_acl_classify(context_, pointers, results, n, 1);
    unsigned found = 0;
    for (unsigned i = 0; i < n; ++i) found += results[i] != 0;
    return found;
  }

 private:
  const unsigned number_;
  rte_acl_ctx* context_ = nullptr;
  std::vector<AclKey> keys_;
};

}  // namespace

std::unique_ptr<FlowEngine> make_rte_hash(unsigned number) {
  return std::make_unique<RteHash>(number);
}
std::unique_ptr<FlowEngine> make_rte_acl(unsigned number) {
  return std::make_unique<RteAcl>(number);
}

}  // namespace hecto::bench
