#include "router/control/xfrm_control.hpp"

#include <optional>

#include "router/control/notes.hpp"
#include "router/linux/xfrm/mirror.hpp"
#include "router/linux/xfrm/policy_use.hpp"

namespace hecto::router {
namespace {

class Kernel final : public XfrmKernel {
 public:
  Kernel(const NetworkNamespace& space, XfrmRequests requests, std::optional<XfrmUse> use)
      : space_(space), requests_(std::move(requests)), use_(std::move(use)) {}
  Result<void> expire(const SaId& id, bool hard) override { return requests_.expire(id, hard); }
  Result<UsageOutcome> report(std::span<const SaReport> reports) override {
    return requests_.report(reports);
  }
  Result<void> acquire(const IpsecPolicy& policy) override { return requests_.acquire(policy); }
  void mark_used(std::span<const IpsecSelector> selectors) override {
    if (use_) use_->mark_used(space_, selectors);
  }

 private:
  const NetworkNamespace& space_;
  XfrmRequests requests_;
  std::optional<XfrmUse> use_;
};

// The same packets on their way back.
IpsecSelector reversed(IpsecSelector selector) {
  std::swap(selector.source, selector.destination);
  std::swap(selector.source_port, selector.destination_port);
  std::swap(selector.source_port_mask, selector.destination_port_mask);
  return selector;
}

}  // namespace

void XfrmUsage::expired(const Expiry& expiry) {
  if (expiry.origin != RouteOrigin::kLinux) return;
  auto told = kernel_.expire(expiry.id, expiry.hard);
  if (!told && told.error().error_number != ENOENT) notes_.add("ipsec: " + told.error().message);
}

void XfrmUsage::report(uint32_t now_s, int64_t now_unix_s) {
  report_sas(now_unix_s - int64_t{now_s});
  follow_policies();
}

// Linux's counters stand still while hectod carries the packets: it is told of those that moved.
void XfrmUsage::report_sas(int64_t since_1970) {
  std::vector<SaReport> reports;
  std::map<SaId, uint64_t> packets;
  for (const SaView& sa : ipsec_.sas()) {
    if (sa.origin != RouteOrigin::kLinux) continue;
    const auto before = sa_packets_.find(sa.id);
    packets[sa.id] = sa.usage.packets;
    if (sa.usage.packets == (before == sa_packets_.end() ? 0 : before->second)) continue;
    SaReport report;
    report.id = sa.id;
    report.esn = sa.esn;
    report.bytes = sa.usage.bytes;
    report.packets = sa.usage.packets;
    report.first_used_s = static_cast<uint64_t>(since_1970 + sa.usage.first_used_s);
    report.sequence = sa.usage.sequence;
    report.replay_sequence = sa.usage.replay_top;
    reports.push_back(report);
  }
  sa_packets_ = std::move(packets);
  if (reports.empty()) return;
  const auto outcome = kernel_.report(reports);
  if (!outcome)
    notes_.add("ipsec: " + outcome.error().message);
  else if (outcome->failed > 0)
    notes_.add("ipsec: Linux did not take the usage of an SA: " + outcome->first_failure.message);
}

// Packets met a policy that nothing serves: the IKE daemon is asked for SAs (`start_action =
// trap`). Policies that have one and moved packets are in use: the kernel is told, or `inactivity`
// would end what hectod carries.
void XfrmUsage::follow_policies() {
  std::map<PolicyTag, uint64_t> met;
  std::vector<IpsecSelector> used;
  for (const PolicyView& view : ipsec_.policies()) {
    const IpsecPolicy& policy = view.policy;
    if (policy.origin != RouteOrigin::kLinux || !policy.protection) continue;
    const PolicyTag tag{policy.direction, policy.index};
    met[tag] = view.packets;
    const auto before = policy_packets_.find(tag);
    if (view.packets == (before == policy_packets_.end() ? 0 : before->second)) continue;
    const bool out = policy.direction == PolicyDirection::kOut;
    if (!out || view.sa)
      used.push_back(out ? policy.selector : reversed(policy.selector));
    else if (auto asked = kernel_.acquire(policy); !asked)
      notes_.add("ipsec: " + asked.error().message);
  }
  policy_packets_ = std::move(met);
  kernel_.mark_used(used);
}

XfrmControl::XfrmControl(std::unique_ptr<XfrmKernel> kernel, std::unique_ptr<XfrmMirror> mirror,
                         const Ipsec& ipsec, Notes& notes)
    : kernel_(std::move(kernel)), mirror_(std::move(mirror)), usage_(*kernel_, ipsec, notes) {}

XfrmControl::~XfrmControl() = default;

Result<std::unique_ptr<XfrmControl>> XfrmControl::open(const NetworkNamespace& space, Ipsec& ipsec,
                                                       Notes& notes) {
  const auto tell = [&notes](const std::string& line) { notes.add("ipsec: " + line); };
  MirrorOptions options;
  options.tell = tell;
  auto mirror = XfrmMirror::open(space, ipsec, tell, options);
  if (!mirror && mirror.error().error_number == EPROTONOSUPPORT) return nullptr;
  if (!mirror) return tl::unexpected(mirror.error());
  auto requests = XfrmRequests::open(space);
  if (!requests) return tl::unexpected(requests.error());
  std::optional<XfrmUse> use;
  if (auto opened = XfrmUse::open(space))
    use.emplace(std::move(*opened));
  else
    notes.add("ipsec: " + opened.error().message);
  return std::unique_ptr<XfrmControl>(
      new XfrmControl(std::make_unique<Kernel>(space, std::move(*requests), std::move(use)),
                      std::move(*mirror), ipsec, notes));
}

int XfrmControl::fd() const {
  return mirror_->fd();
}

bool XfrmControl::whole() const {
  return mirror_->whole();
}

void XfrmControl::read_again(const std::string& why) {
  mirror_->request_resync(why);
}

Result<size_t> XfrmControl::process(size_t messages) {
  return mirror_->process(messages);
}

}  // namespace hecto::router
