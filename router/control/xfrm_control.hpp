// Linux's IPsec while hectod carries its packets: SAs and policies come from the kernel, and the
// kernel is told what it would have seen had the packets passed there, or the IKE daemon would end
// what is in use, or never make what is needed.
//
// Control only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "base/result.hpp"
#include "router/ipsec/ipsec.hpp"
#include "router/linux/xfrm/requests.hpp"

namespace hecto::router {

class NetworkNamespace;
class Notes;
class XfrmMirror;

// What is asked of the kernel.
class XfrmKernel {
 public:
  virtual ~XfrmKernel() = default;
  virtual Result<void> expire(const SaId& id, bool hard) = 0;
  virtual Result<UsageOutcome> report(std::span<const SaReport> reports) = 0;
  virtual Result<void> acquire(const IpsecPolicy& policy) = 0;
  virtual void mark_used(std::span<const IpsecSelector> selectors) = 0;  // policies that are in use
};

// Tells the kernel of SAs and policies of its own that moved packets since the last call.
class XfrmUsage {
 public:
  XfrmUsage(XfrmKernel& kernel, const Ipsec& ipsec, Notes& notes)
      : kernel_(kernel), ipsec_(ipsec), notes_(notes) {}

  // Upon which the IKE daemon makes a new SA, or forgets this one.
  void expired(const Expiry& expiry);
  // `now_s`: of the clock of SAs; `now_unix_s`: the same moment.
  void report(uint32_t now_s, int64_t now_unix_s);

 private:
  void report_sas(int64_t since_1970);
  void follow_policies();

  XfrmKernel& kernel_;
  const Ipsec& ipsec_;
  Notes& notes_;
  using PolicyTag = std::pair<PolicyDirection, uint32_t>;  // and Linux's index
  std::map<PolicyTag, uint64_t> policy_packets_;
  std::map<SaId, uint64_t> sa_packets_;
};

class XfrmControl {
 public:
  // Null where the kernel has no XFRM. All three outlive it.
  static Result<std::unique_ptr<XfrmControl>> open(const NetworkNamespace& space, Ipsec& ipsec,
                                                   Notes& notes);
  ~XfrmControl();
  XfrmControl(const XfrmControl&) = delete;
  XfrmControl& operator=(const XfrmControl&) = delete;

  int fd() const;  // readable when process() has something to do
  Result<size_t> process(size_t messages);
  XfrmUsage& usage() { return usage_; }
  bool whole() const;  // all SAs and policies of the kernel's are told, and no change was lost
  void read_again(const std::string& why);

 private:
  XfrmControl(std::unique_ptr<XfrmKernel> kernel, std::unique_ptr<XfrmMirror> mirror,
              const Ipsec& ipsec, Notes& notes);

  std::unique_ptr<XfrmKernel> kernel_;
  std::unique_ptr<XfrmMirror> mirror_;
  XfrmUsage usage_;
};

}  // namespace hecto::router
