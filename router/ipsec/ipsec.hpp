// IPsec's control: everything that Linux, the file and the API say of SAs and policies.
//
//   sa()      ──► SaTable ──► Sa (keys expanded) ──► Sad, at once
//                  │ newest that is not expired, soft-expired ones last
//                  ▼
//               Templates: (ends, mode, reqid, SPI, if_id) ──► Policy::sa, one store each
//                  ▲
//   policy()  ──► PolicyTable ──► Policy ──► Spd of its direction, all changes of a turn at once
//
// Owned by the control thread; not thread-safe. An SA is found inbound when the call returns;
// policies, and which SA serves them, change in commit(), which belongs behind each batch of
// changes and about once a second without any. So a rekey is make-before-break: the new SA is there
// before a policy points at it, and the old one goes out of its policies, then out of the workers'
// hands (QSBR), then it is destroyed.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "router/ipsec/esp/tables.hpp"
#include "router/ipsec/events.hpp"
#include "router/ipsec/options.hpp"
#include "router/ipsec/policy_table.hpp"
#include "router/ipsec/sa_table.hpp"
#include "router/ipsec/templates.hpp"
#include "router/ipsec/views.hpp"

namespace hecto::router {

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
  std::vector<Expiry> due(uint32_t now_s) { return sas_.expire(now_s); }

  std::optional<SaUsage> usage(const SaId& id, bool with_bitmap = false) const {
    return sas_.usage(id, with_bitmap);
  }
  // Of the file's and the API's, for the process that comes after; what the one before has left.
  std::vector<SaNumbers> sa_numbers() const { return sas_.numbers(); }
  void continue_from(std::vector<SaNumbers> left) { sas_.continue_from(std::move(left)); }
  std::vector<SaView> sas() const;  // by destination and SPI
  std::optional<SaView> find(const SaId& id) const;
  // By destination and SPI. What is called must leave no copy of a key behind.
  void each_key(const std::function<void(const SaState&, const esp::Keys&)>& call) const {
    sas_.each_key(call);
  }
  // Offers all SAs to the NICs: there is another one.
  void offer_to_nics() { sas_.offer_to_nics(); }
  // By direction, as they are looked at.
  std::vector<PolicyView> policies() const { return policies_.views(); }
  IpsecStatistics statistics() const;
  bool empty() const {
    return sas_.size() == 0 && policies_.size() == 0 && !policies_.incomplete();
  }
  // Whether policies of Linux's were left out for which there may be room now: to be read again.
  bool may_have_room() const {
    return policies_.incomplete() &&
           (left_out_may_be_gone_ || policies_.size() < options_.max_policies);
  }

 private:
  // What nobody finds any more, and readers may still hold.
  struct Retired {
    uint64_t token;
    std::vector<std::unique_ptr<esp::Sa>> sas;
    std::vector<std::unique_ptr<esp::Policy>> policies;
  };

  void reclaim();
  void warn_once(bool& warned, const std::string& line) const;

  const IpsecOptions options_;
  Templates templates_;
  SaTable sas_;
  PolicyTable policies_;
  std::deque<Retired> retired_;
  bool resyncing_ = false;
  bool left_out_may_be_gone_ = false;  // Linux removed a policy that was not here
  bool warned_of_sas_ = false, warned_of_policies_ = false;  // that did not fit, since a resync
  // Linux's.
  uint64_t sas_refused_ = 0, policies_refused_ = 0;
  uint64_t resyncs_ = 0, swept_ = 0;
};

}  // namespace hecto::router
