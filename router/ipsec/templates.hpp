// Templates of policies (XFRM's tmpl) and the SAs that fit them: which SA protects what a policy
// matches.
//
//   SaTable ──► add, remove, changed ──┐
//                                      ├──► resolve(): Policy::sa, one store each
//   PolicyTable ──► bind, unbind ──────┘
//
// Of the SAs that fit, the newest that is not expired is taken; one past its soft lifetime only
// when it is alone. Owned by the control thread; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "router/ipsec/esp/policy.hpp"
#include "router/ipsec/sa_entry.hpp"

namespace hecto::router {

class Templates {
 public:
  // SAs. `entry` stays where it is, with its serial, state and Sa, until it is removed.
  void add(const SaEntry& entry);
  void remove(const SaEntry& entry);
  void changed(const SaEntry& entry);  // a lifetime of it is over

  // Policies. The SA that served the template last serves `live` at once.
  void bind(const IpsecPolicy& policy, esp::Policy& live);
  void unbind(const IpsecPolicy& policy, esp::Policy& live);

  // Chooses anew where SAs or policies came, went or changed. Rekeying happens here.
  void resolve();

  uint32_t policies_without_sa() const { return without_sa_; }  // outbound ones to protect

 private:
  struct Key {
    IpAddress source, destination;
    IpsecMode mode = IpsecMode::kTunnel;
    uint32_t reqid = 0;  // 0: any
    Spi spi = 0;         // 0: any
    uint32_t if_id = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  struct Template {
    std::vector<const SaEntry*> sas;  // that fit, oldest first
    std::vector<esp::Policy*> policies;
    esp::Sa* current = nullptr;
    bool stale = false;  // to be resolved
  };
  using Map = std::unordered_map<Key, Template, Hash>;

  static std::optional<Key> key_of(const IpsecPolicy& policy);
  template <typename Act>
  static void for_each_key(const SaEntry& entry, Act act);
  void mark_stale(Map::value_type& item);
  void assign(esp::Policy& policy, esp::Sa* sa);
  void resolve(Map::value_type& item);

  Map templates_;
  std::vector<Map::value_type*> stale_;
  uint32_t without_sa_ = 0;
};

}  // namespace hecto::router
