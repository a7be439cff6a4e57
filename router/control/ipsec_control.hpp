// IPsec as control has it: the SAs and policies (Ipsec), their clock, what encrypts, and the NICs'
// part in it. Born before the data plane, whose stages look at all of these, and gone after it.
// Control only; workers read the clock.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/secret_memory.hpp"
#include "config/file/ipsec.hpp"
#include "router/dataplane/stages/ipsec_stages.hpp"
#include "router/ipsec/ipsec.hpp"

namespace hecto::router {

class ForwardingPlane;
class NicSessions;
class Routing;

class IpsecControl {
 public:
  // All outlive it. `device_keys`: null without offload devices.
  IpsecControl(const config::IpsecConfig& config, const Routing& routing,
               lookup::Reclaimer& readers, DeviceKeys* device_keys);
  ~IpsecControl();
  IpsecControl(const IpsecControl&) = delete;
  IpsecControl& operator=(const IpsecControl&) = delete;

  Ipsec& ipsec() { return ipsec_; }
  const Ipsec& ipsec() const { return ipsec_; }
  NicSessions* nic() { return nic_.get(); }  // null: NICs are to do no crypto
  const NicSessions* nic() const { return nic_.get(); }
  // What encrypts, or why nothing does.
  const std::string& found() const { return found_; }
  void add_to_found(const std::string& words) { found_ += words; }

  uint32_t now_s() const { return now_s_.load(std::memory_order_relaxed); }  // the clock of SAs

  // Of what each worker makes its stages. Nothing where this machine cannot; found() says why, and
  // the router goes on without. Once DPDK is there, once.
  std::optional<IpsecStages::Options> stages();

  // What was added and removed, for the workers; they run its stages only while there is
  // something to do. Behind each turn.
  void commit(ForwardingPlane& plane);
  // Once a second: NICs' sessions, and the lifetimes that are over since the last call.
  std::vector<Expiry> tick();

  // All SAs' keys, in Wireshark's words; refused unless `exported`, which the file says.
  Result<std::shared_ptr<const SecretBytes>> keys(bool exported) const;

 private:
  static std::unique_ptr<NicSessions> nic_sessions(const config::IpsecConfig& config,
                                                   const Routing& routing,
                                                   const std::atomic<uint32_t>& now_s);
  IpsecOptions options(const config::IpsecConfig& config, lookup::Reclaimer& readers,
                       DeviceKeys* device_keys) const;

  std::atomic<uint32_t> now_s_;  // the clock of SAs' lifetimes
  const esp::CryptoLibrary crypto_;
  std::string found_;
  std::unique_ptr<NicSessions> nic_;
  Ipsec ipsec_;
};

}  // namespace hecto::router
