// IPsec's control: everything that Linux, the file and the API say of SAs and policies, and the
// only writer of the SAD and the SPDs that workers read.
//
//   sa()      ──► Sa (keys expanded) ──► Sad, at once
//                  │ newest that is not expired, soft-expired ones last
//                  ▼
//               Template: (ends, mode, reqid, SPI, if_id) ──► Policy::sa, one store each
//   policy()  ──► Policy ──► Spd of its direction, all changes of a turn at once
//
// Owned by the control thread; not thread-safe. An SA is found inbound when the call returns;
// policies, and which SA serves them, change in commit(), which belongs behind each batch of
// changes and about once a second without any. So a rekey is make-before-break: the new SA is there
// before a policy points at it, and the old one goes out of its policies, then out of the workers'
// hands (QSBR), then it is destroyed.
//
// Numbers are never used twice: an SA that is said again with the keys it has keeps its sequence
// number and its window; where it has to be made anew it goes on behind them.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/log_level.hpp"
#include "lookup/memory.hpp"
#include "router/ipsec/esp/sa.hpp"
#include "router/ipsec/esp/sa_state.hpp"
#include "router/ipsec/esp/sad.hpp"
#include "router/ipsec/esp/spd.hpp"
#include "router/ipsec/ipsec_events.hpp"
#include "router/ipsec/ipsec_views.hpp"

namespace hecto::router {

// Where the keys of SAs go for the offload devices. Called on the control thread.
class DeviceKeys {
 public:
  virtual ~DeviceKeys() = default;
  // Their index on every device; esp::kNoDeviceKey where devices cannot do the transform, or have
  // no room.
  virtual uint32_t add(const esp::Transform& transform, const esp::Keys& keys) = 0;
  // No worker holds a packet of that SA any more.
  virtual void remove(uint32_t index) = 0;
};

// What ports' NICs do of ESP. Called on the control thread.
class NicCrypto {
 public:
  virtual ~NicCrypto() = default;
  // The SA is in the SAD. May be said again, also of SAs that NICs had no part in.
  virtual void add(esp::Sa& sa, const std::shared_ptr<const esp::Keys>& keys) = 0;
  virtual void leave(esp::Sa& sa) = 0;         // nobody finds it any more; workers may hold it
  virtual void forget(const esp::Sa& sa) = 0;  // nobody holds it any more
  virtual NicUse use(const esp::Sa& sa) const = 0;
};

struct IpsecOptions {
  uint32_t max_sas = esp::Sad::kDefaultMax;
  uint32_t max_policies = 16384;
  esp::CryptoLibrary crypto = esp::best_crypto();  // that the workers' engines have
  lookup::Reclaimer* readers = &lookup::Reclaimer::none();
  DeviceKeys* device_keys = nullptr;  // null: all ESP is done on CPUs
  NicCrypto* nic = nullptr;           // null: no port's NIC has a part in it
  std::function<uint32_t()> now_s;    // the clock that workers use; default: CLOCK_MONOTONIC
  std::function<void(LogLevel, const std::string&)> log;  // one line an event
};

class Ipsec final : public IpsecEvents {
 public:
  explicit Ipsec(IpsecOptions options = {});
  ~Ipsec() override;
  Ipsec(const Ipsec&) = delete;
  Ipsec& operator=(const Ipsec&) = delete;

  // For workers; valid as long as this is.
  esp::IpsecView view() const;

  // SAs and policies of the file and the API (`origin` says which). True: it took the place of one
  // of the same origin with its id, or with its direction, selector and if_id. Refused: an id that
  // another origin holds, keys that do not fit, limits.
  Result<bool> add_sa(SaState state);
  Result<void> remove_sa(const SaId& id, RouteOrigin origin);
  Result<bool> add_policy(const IpsecPolicy& policy);
  Result<void> remove_policy(const IpsecPolicy& policy);  // of its origin

  // Linux's. They cannot be refused: what does not fit is counted, and told once.
  void sa(SaState state) override;
  void sa_removed(const SaId& id) override;
  void sas_flushed() override;
  void policy(const IpsecPolicy& policy) override;
  void policy_removed(const IpsecPolicy& policy) override;
  void policies_flushed() override;
  void ipsec_resync_begin() override;
  void ipsec_resync_end() override;

  void commit();

  // Lifetimes that ended since the last call; about once a second. Hard-expired SAs carry no packet
  // more; the file's and the API's are dropped. How long a SA of Linux's was there is Linux's own
  // business: it tells by sa_removed().
  std::vector<Expiry> due(uint32_t now_s);

  std::optional<SaUsage> usage(const SaId& id, bool with_bitmap = false) const;
  std::vector<SaView> sas() const;  // by destination and SPI
  std::optional<SaView> find(const SaId& id) const;
  // By destination and SPI. What is called must leave no copy of a key behind.
  void each_key(const std::function<void(const SaState&, const esp::Keys&)>& call) const;
  // Offers all SAs to the NICs: there is another one.
  void offer_to_nics();
  std::vector<PolicyView> policies() const;  // by direction, as they are looked at
  IpsecStatistics statistics() const;
  bool empty() const { return sas_.empty() && policies_.empty(); }

 private:
  struct Entry;
  // All that asks for the same SAs, and the SAs that fit, oldest first.
  struct TemplateKey {
    IpAddress source, destination;
    IpsecMode mode = IpsecMode::kTunnel;
    uint32_t reqid = 0, spi = 0;  // 0: any
    uint32_t if_id = 0;
    bool operator==(const TemplateKey&) const = default;
  };
  struct Template {
    std::vector<Entry*> sas;
    std::vector<esp::Policy*> policies;
    esp::Sa* current = nullptr;
    bool dirty = false;
  };
  struct PolicyKey {
    PolicyDirection direction;
    IpsecSelector selector;
    RouteOrigin origin;
    uint32_t if_id;
    bool operator==(const PolicyKey&) const = default;
  };
  struct Hash {
    size_t operator()(const SaId& id) const;
    size_t operator()(const TemplateKey& key) const;
    size_t operator()(const PolicyKey& key) const;
  };
  using Templates = std::unordered_map<TemplateKey, Template, Hash>;

  struct Entry {
    SaState state;                          // without its keys
    std::shared_ptr<const esp::Keys> keys;  // in key memory: to know them again
    std::unique_ptr<esp::Sa> sa;
    uint64_t serial = 0;  // newest is highest
    uint32_t added_s = 0;
    uint16_t generation = 0;
    bool soft_expired = false;
    bool expired = false;
    // Of the last call of due().
    uint32_t sampled_s = 0;
    uint64_t sampled_bytes = 0, sampled_packets = 0;
    uint64_t bytes_per_s = 0, packets_per_s = 0;
  };
  struct PolicyEntry {
    IpsecPolicy policy;
    std::unique_ptr<esp::Policy> live;
    Templates::value_type* protection = nullptr;  // outbound, to protect
    uint16_t generation = 0;
  };
  // One direction: what workers read, and the policies in the order in which they are looked at.
  struct Direction {
    explicit Direction(lookup::Reclaimer& readers) : spd(readers) {}
    esp::Spd spd;
    std::map<std::pair<uint32_t, uint64_t>, PolicyEntry*> order;  // by priority, serial
    // Until commit(). What comes and goes in one turn is in both.
    std::vector<esp::Policy*> inserted;
    std::vector<std::unique_ptr<esp::Policy>> removed;
  };
  // What nobody finds any more, and readers may still hold.
  struct Retired {
    uint64_t token = 0;
    std::vector<std::unique_ptr<esp::Sa>> sas;
    std::vector<std::unique_ptr<esp::Policy>> policies;
    bool empty() const { return sas.empty() && policies.empty(); }
  };
  // Where an SA stopped counting: charon moves an SA by removing and adding it.
  static constexpr uint32_t kDeparted_s = 10;  // how long this is remembered
  struct Departed {
    uint64_t sequence, replay_sequence;
    esp::Transform transform;
    uint32_t at_s;
  };
  using Sas = std::unordered_map<SaId, Entry, Hash>;
  using Policies = std::unordered_map<PolicyKey, PolicyEntry, Hash>;

  // ipsec_sas.cpp
  Result<bool> put(SaState state);
  Result<std::unique_ptr<esp::Sa>> make(const SaState& state);
  void learn_of_departed(SaState& state) const;
  void go_on(SaState& state, const Entry& from) const;
  void erase(Sas::iterator at);
  void retire(std::unique_ptr<esp::Sa> sa);
  void enter_templates(Entry& entry);
  void leave_templates(Entry& entry);
  void touch_templates(const Entry& entry);
  template <typename Act>
  void with_templates(const Entry& entry, Act act);
  size_t erase_sas(const std::function<bool(const Entry&)>& which);

  // ipsec_policies.cpp
  Result<bool> put(const IpsecPolicy& policy);
  void erase(Policies::iterator at);
  void enter(PolicyEntry& entry);
  void leave(PolicyEntry& entry);
  void tell_contradictions(const IpsecPolicy& policy);
  std::optional<TemplateKey> template_of(const IpsecPolicy& policy) const;
  void touch(Templates::value_type& of);
  void protect_by(esp::Policy& policy, esp::Sa* sa);
  void resolve(Templates::value_type& of);
  void change(Direction& direction);
  size_t erase_policies(const std::function<bool(const PolicyEntry&)>& which);

  // ipsec_show.cpp
  static void sample(Entry& entry, const SaUsage& usage, uint32_t now_s);
  static std::optional<Expiry> check(Entry& entry, const SaUsage& usage, uint32_t now_s);
  SaView view(const Entry& entry) const;

  void forget(const esp::Sa& sa);
  void reclaim();
  void tell_once(bool& told, const std::string& line);
  void log(LogLevel level, const std::string& line) const {
    if (options_.log) options_.log(level, line);
  }

  IpsecOptions options_;
  esp::Sad sad_;
  Sas sas_;
  Templates templates_;
  Policies policies_;
  std::array<Direction, 3> directions_;  // by PolicyDirection
  std::vector<Templates::value_type*> dirty_;
  Retired leaving_;
  std::deque<Retired> retired_;
  std::vector<uint32_t> free_numbers_;
  uint32_t next_number_ = 0;
  uint64_t serial_ = 0;
  uint32_t without_sa_ = 0;                          // outbound policies to protect
  std::unordered_map<uint64_t, Departed> departed_;  // by SPI and reqid
  uint16_t generation_ = 1;                          // of Linux's state, never 0
  bool resyncing_ = false;
  bool told_sas_full_ = false, told_policies_full_ = false;
  IpsecStatistics statistics_;
};

// "198.51.100.1 0x00001001", as messages name an SA.
std::string to_string(const SaId& id);
// "out 10.1.0.0/16 -> 10.2.0.0/16 protocol 6 port 1:443", as messages name a policy.
std::string to_string(const IpsecPolicy& policy);
std::string to_string(const IpsecSelector& selector);

}  // namespace hecto::router
