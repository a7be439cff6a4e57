#include "config/file/load_nat.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "config/file/addresses.hpp"
#include "config/file/keys.hpp"

namespace hecto::config {
namespace {

using lookup::Family;

constexpr uint16_t kFirstOfLinux = 32768, kLastOfLinux = 60999;  // ip_local_port_range
constexpr size_t kMostOutInterfaces = 255;

// A prefix that something has already, by where it stands.
struct Taken {
  IpPrefix prefix;
  std::string whose;
};

bool overlap(const IpPrefix& a, const IpPrefix& b) {
  if (a.address.family != b.address.family) return false;
  const uint8_t shorter = std::min(a.length, b.length);
  return IpPrefix{a.address, shorter}.network() == IpPrefix{b.address, shorter}.network();
}

const Taken* taken_by(const std::vector<Taken>& taken, const IpPrefix& prefix) {
  const auto found = std::find_if(taken.begin(), taken.end(),
                                  [&](const Taken& each) { return overlap(each.prefix, prefix); });
  return found == taken.end() ? nullptr : &*found;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string_view>& known) {
  if (known.empty()) return "there is none";
  const std::string_view near = nearest(word, known);
  if (!near.empty()) return fmt::format("did you mean {}?", near);
  return fmt::format("use {}", fmt::join(known, ", "));
}

class NatLoader {
 public:
  explicit NatLoader(Loading& loading) : loading_(loading), nat_(loading.config.nat) {
    for (const PortConfig& port : loading.config.ports) {
      vrf_of_[port.name] = port.vrf;
      for (const VlanConfig& vlan : port.vlans) vrf_of_[interface_name(port.name, vlan)] = vlan.vrf;
    }
  }

  void load_pool(const Value::Entry& entry) {
    Fields fields(entry.value, nat_pool_keys.names, "a map, as {addresses: [203.0.113.1]}");
    NatPoolConfig pool;
    pool.name = entry.key;
    read_keys(fields, nat_pool_keys, pool,
              {{"addresses", [&](const Value& list) { read_addresses(list, pool); }},
               {"ports", [&](const Value& range) { read_ports(range, pool); }}});
    if (const Value* addresses = fields.get("addresses");
        addresses != nullptr && pool.addresses.empty() && loading_.report.empty())
      addresses->complain("no address; add some, as [203.0.113.1]");
    check_own(pool, fields.get("ports"), entry.value);
    if (pool.blocks_per_address() == 0)
      entry.value.complain(fmt::format(
          "ports {}-{} have no room for a block of {}; use a smaller block_size, or more ports",
          pool.first_port, pool.last_port, pool.block_size));
    nat_.pools.push_back(std::move(pool));
  }

  void load_rule(const Value& value) {
    Fields fields(value, nat_rule_keys.names,
                  "a map, as {inside: 10.1.0.0/24, pool: main, out: wan0}");
    NatRuleConfig rule;
    const auto read = [](const Value& text, IpPrefix& into) {
      if (const auto prefix = read_selector(text)) into = *prefix;
    };
    read_keys(fields, nat_rule_keys, rule,
              {{"inside", [&](const Value& text) { read(text, rule.inside); }},
               {"outside", [&](const Value& text) { read(text, rule.outside); }}});
    const Value* inside = fields.get("inside");
    const Value* outside = fields.get("outside");
    const Value* pool = fields.get("pool");
    if ((outside != nullptr) == (pool != nullptr))
      value.complain(outside == nullptr ? "translates to nothing; add outside, for 1:1, or pool"
                                        : "both outside and pool; use one of them");
    if (const Value* out = fields.get("out")) check_out(*out, rule);
    if (inside != nullptr && rule.inside.length != 0) {
      if (outside != nullptr && pool == nullptr && rule.outside.length != 0)
        check_one_to_one(*outside, rule);
      if (pool != nullptr && outside == nullptr) check_pool(*pool, rule);
      check_inside(*inside, rule);
    } else if (inside != nullptr && loading_.report.empty()) {
      inside->refuse("covers everything; use a length of 1 or more");
    }
    nat_.rules.push_back(std::move(rule));
  }

  // What all rules and pools together say.
  void check(const Value& value) {
    for (const auto& [name, line] : unused_)
      line.complain(
          fmt::format("no rule uses the pool; add one, as {{inside: 10.1.0.0/24, pool: "
                      "{}, out: wan0}}, or take it out",
                      name));
    for (const NatRuleConfig& rule : nat_.rules)
      if (const Taken* other = taken_by(outside_, rule.inside))
        value.complain(
            fmt::format("inside {} overlaps with {} of {}, which is outside; an address "
                        "can be one of the two",
                        rule.inside.to_string(), other->prefix.to_string(), other->whose));
    std::set<std::string> outs;
    for (const NatRuleConfig& rule : nat_.rules) outs.insert(rule.out);
    if (outs.size() > kMostOutInterfaces)
      value.complain(
          fmt::format("rules for {} interfaces; use at most {}", outs.size(), kMostOutInterfaces));
  }
  void expect_use(const Value::Entry& entry) { unused_.emplace(entry.key, entry.value); }

 private:
  void read_addresses(const Value& list, NatPoolConfig& pool) {
    const std::string whose = "pool " + pool.name;
    for (const Value& item : list.items("a list of addresses, as [203.0.113.1, 203.0.113.8/29]",
                                        kMostNatPoolAddresses)) {
      const auto prefix = read_selector(item);
      if (!prefix) continue;
      if (prefix->address.family != Family::kIpv4) {
        item.refuse("is IPv6, whose hosts share no addresses; use a rule with outside");
        continue;
      }
      if (prefix->length < 22) {
        item.refuse(fmt::format("has more than {} addresses; use less", kMostNatPoolAddresses));
        continue;
      }
      if (const Taken* other = taken_by(outside_, *prefix)) {
        item.refuse(fmt::format("overlaps with {} of {}; use others", other->prefix.to_string(),
                                other->whose));
        continue;
      }
      outside_.push_back({*prefix, whose});
      pool.addresses.push_back(*prefix);
    }
    if (pool.address_count() > kMostNatPoolAddresses)
      list.complain(
          fmt::format("{} addresses; use at most {}", pool.address_count(), kMostNatPoolAddresses));
  }

  void read_ports(const Value& value, NatPoolConfig& pool) {
    const std::string_view text = value.word();
    const size_t dash = text.find('-');
    const uint64_t first = parse_decimal(text.substr(0, dash)).value_or(0);
    const uint64_t last =
        dash == std::string_view::npos ? 0 : parse_decimal(text.substr(dash + 1)).value_or(0);
    if (first < kFirstNatPort || last > kLastNatPort || first > last) {
      value.refuse(
          fmt::format("is no range of ports; use one within {}-{}", kFirstNatPort, kLastNatPort));
      return;
    }
    pool.first_port = static_cast<uint16_t>(first);
    pool.last_port = static_cast<uint16_t>(last);
  }

  const AddressUse* own_in(const IpPrefix& prefix) const {
    for (const AddressUse& use : loading_.addresses)
      if (use.prefix.address.family == prefix.address.family && prefix.contains(use.prefix.address))
        return &use;
    return nullptr;
  }

  void check_own(NatPoolConfig& pool, const Value* ports, const Value& value) {
    for (const IpPrefix& prefix : pool.addresses) {
      const AddressUse* own = own_in(prefix);
      if (own == nullptr || loading_.static_mode) continue;
      if (ports == nullptr) {
        pool.first_port = kFirstSharedNatPort;
        pool.last_port = kLastSharedNatPort;
      } else if (pool.first_port <= kLastOfLinux && pool.last_port >= kFirstOfLinux) {
        value.complain(fmt::format(
            "ports {}-{} reach into {}-{}, from which Linux opens connections of {}, {}'s own "
            "address; use up to {}",
            pool.first_port, pool.last_port, kFirstOfLinux, kLastOfLinux,
            own->prefix.address.to_string(), own->interface, kFirstOfLinux - 1));
      }
      return;
    }
  }

  void check_out(const Value& out, const NatRuleConfig& rule) {
    if (rule.out.empty()) return;
    const auto found = vrf_of_.find(rule.out);
    std::vector<std::string_view> names;
    for (const auto& [name, vrf] : vrf_of_) names.push_back(name);
    if (found == vrf_of_.end())
      out.refuse(fmt::format("is no interface of this file; {}", did_you_mean(rule.out, names)));
    else if (!found->second.empty())
      out.refuse(
          fmt::format("is in VRF {}, whose addresses NAT does not tell from others'; use "
                      "an interface of main",
                      found->second));
  }

  void check_one_to_one(const Value& outside, const NatRuleConfig& rule) {
    const bool ipv6 = rule.inside.address.family == Family::kIpv6;
    if (rule.inside.address.family != rule.outside.address.family)
      return outside.refuse("is not of the family of inside; use two prefixes of one family");
    if (rule.inside.length != rule.outside.length)
      return outside.refuse(fmt::format("is not as long as inside, {}; use a /{}",
                                        rule.inside.to_string(), rule.inside.length));
    if (ipv6 && rule.inside.length > 64)
      return outside.refuse(
          "is longer than /64, where no word is left for the checksum (RFC 6296 "
          "§3.7); use /64 or shorter");
    if (const Taken* other = taken_by(outside_, rule.outside))
      return outside.refuse(fmt::format("overlaps with {} of {}; use others",
                                        other->prefix.to_string(), other->whose));
    if (const AddressUse* own = own_in(rule.outside); own != nullptr && !ipv6)
      return outside.refuse(fmt::format(
          "holds {}, {}'s own address, to which nobody would get through; use another prefix, or a "
          "pool",
          own->prefix.address.to_string(), own->interface));
    outside_.push_back({rule.outside, fmt::format("the rule for {}", rule.inside.to_string())});
  }

  void check_pool(const Value& pool, const NatRuleConfig& rule) {
    std::vector<std::string_view> names;
    bool found = false;
    for (const NatPoolConfig& each : nat_.pools) {
      names.push_back(each.name);
      found |= each.name == rule.pool;
    }
    unused_.erase(rule.pool);
    if (!found)
      pool.refuse(fmt::format("is no pool of this file; {}", did_you_mean(rule.pool, names)));
    else if (rule.inside.address.family != Family::kIpv4)
      pool.refuse("is of IPv4, and inside is IPv6; use outside, a prefix of the same length");
  }

  void check_inside(const Value& inside, const NatRuleConfig& rule) {
    for (const NatRuleConfig& other : nat_.rules)
      if (other.out == rule.out && other.inside.length != 0 && overlap(other.inside, rule.inside)) {
        inside.refuse(
            fmt::format("overlaps with {} of another rule for {}; use prefixes that do "
                        "not",
                        other.inside.to_string(), rule.out));
        return;
      }
  }

  Loading& loading_;
  NatConfig& nat_;
  std::map<std::string, std::string, std::less<>> vrf_of_;
  std::vector<Taken> outside_;
  std::map<std::string, Value> unused_;
};

}  // namespace

void load_nat(const Value& value, Loading& loading) {
  Fields fields(value, nat_keys.names,
                "a map, as {rules: [{inside: 10.1.0.0/24, outside: 203.0.113.0/24, out: wan0}]}");
  NatLoader loader(loading);
  if (const Value* pools = fields.get("pools"))
    for (const Value::Entry& entry :
         pools->entries("pools by name, as {main: {addresses: [203.0.113.1]}}", kMostNatPools)) {
      loader.load_pool(entry);
      loader.expect_use(entry);
    }
  if (const Value* rules = fields.get("rules"))
    for (const Value& item :
         rules->items("a list, as [{inside: 10.1.0.0/24, pool: main, out: wan0}]", kMostNatRules))
      loader.load_rule(item);
  loader.check(value);
}

}  // namespace hecto::config
