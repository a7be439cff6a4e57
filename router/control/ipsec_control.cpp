// IPsec's part of control: what encrypts, the mirror of Linux's SAs and policies, lifetimes.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <time.h>

#include <ctime>

#include "router/control/router.hpp"

namespace hecto::router {
namespace {

uint32_t monotonic_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint32_t>(now.tv_sec);
}

esp::CryptoLibrary library_of(config::IpsecCrypto wanted) {
  if (wanted == config::IpsecCrypto::kAuto) return esp::best_crypto();
  return wanted == config::IpsecCrypto::kIpsecMb ? esp::CryptoLibrary::kIpsecMb
                                                 : esp::CryptoLibrary::kOpenSsl;
}

// The same packets on their way back.
IpsecSelector reversed(IpsecSelector selector) {
  std::swap(selector.source, selector.destination);
  std::swap(selector.source_port, selector.destination_port);
  std::swap(selector.source_port_mask, selector.destination_port_mask);
  return selector;
}

void log_ipsec(LogLevel level, const std::string& line) {
  spdlog::log(level == LogLevel::kWarning ? spdlog::level::warn : spdlog::level::info, line);
}

}  // namespace

void Router::start_nic_crypto() {
  if (config_.ipsec.nic == config::IpsecNic::kNever) return;
  NicSessions::Options options;
  options.own = [this](const IpAddress& address) {
    const Interfaces& interfaces = routing().interfaces();
    for (const auto& [id, state] : interfaces.all())
      for (const IpPrefix& own : interfaces.addresses(state))
        if (own.address == address) return true;
    return false;
  };
  options.now_s = [this] { return now_s_.load(std::memory_order_relaxed); };
  options.log = log_ipsec;
  nic_ = std::make_unique<NicSessions>(std::move(options));
}

// Nothing, with a note, where this machine cannot: the router goes on without.
std::optional<IpsecStages::Options> Router::start_ipsec() {
  now_s_ = monotonic_s();
  IpsecOptions options;
  options.max_sas = config_.ipsec.max_sas;
  options.max_policies = config_.ipsec.max_policies;
  options.crypto = library_of(config_.ipsec.crypto);
  options.readers = &tables_->qsbr();
  if (offload_) options.device_keys = offload_->keys();
  start_nic_crypto();
  options.nic = nic_.get();
  options.now_s = [this] { return now_s_.load(std::memory_order_relaxed); };
  options.log = log_ipsec;
  const esp::CryptoLibrary crypto = options.crypto;
  ipsec_ = std::make_unique<Ipsec>(std::move(options));
  IpsecStages::Options stages{ipsec_->view(), {}, &now_s_, crypto};
  const auto mark = register_sa_mark();
  const auto trial = mark ? IpsecStages::create(stages) : tl::unexpected(mark.error());
  if (!trial) {
    ipsec_found_ = trial.error().message;
    return std::nullopt;
  }
  stages.mark = *mark;
  ipsec_found_ = esp::describe(crypto);
  return stages;
}

// Where the kernel has no XFRM the SAs are those of the file and the API.
Result<void> Router::mirror_ipsec() {
  if (!config_.linux_side.mirror_ipsec || !dataplane_->has_ipsec()) return {};
  auto mirror = XfrmMirror::open(linux_side_->space(), *ipsec_,
                                 [this](const std::string& line) { note("ipsec: " + line); });
  if (!mirror && mirror.error().error_number == EPROTONOSUPPORT) {
    ipsec_found_ += "; this Linux has no XFRM to mirror";
    return {};
  }
  if (!mirror) return tl::unexpected(mirror.error());
  auto requests = XfrmRequests::open(linux_side_->space());
  if (!requests) return tl::unexpected(requests.error());
  xfrm_requests_.emplace(std::move(*requests));
  if (auto use = XfrmUse::open(linux_side_->space()))
    xfrm_use_.emplace(std::move(*use));
  else
    note("ipsec: " + use.error().message);
  xfrm_mirror_ = std::move(*mirror);
  watch(xfrm_mirror_->fd());
  return {};
}

// Workers run the stages of IPsec only while there is something to do for them.
void Router::commit_ipsec() {
  now_s_.store(monotonic_s(), std::memory_order_relaxed);
  ipsec_->commit();
  const bool wanted = !ipsec_->empty() || (nic_ && nic_->busy());
  bool& used = dataplane_->settings().ipsec;
  snapshot_dirty_ |= used != wanted;
  used = wanted;
}

void Router::publish_ipsec() {
  commit_ipsec();
  publish_if_dirty();
}

// What the kernel would have said, upon which the IKE daemon makes a new SA or forgets this one.
void Router::watch_ipsec() {
  if (nic_) nic_->tick();
  for (const Expiry& expiry : ipsec_->due(now_s_.load(std::memory_order_relaxed))) {
    spdlog::info("ipsec: SA {:#x} to {}: {} lifetime over ({})", expiry.id.spi,
                 expiry.id.destination.to_string(), expiry.hard ? "hard" : "soft",
                 to_string(expiry.cause));
    if (expiry.origin != RouteOrigin::kLinux || !xfrm_requests_) continue;
    auto told = xfrm_requests_->expire(expiry.id, expiry.hard);
    if (!told && told.error().error_number != ENOENT) note("ipsec: " + told.error().message);
  }
  if (xfrm_requests_) {
    report_usage();
    follow_policies();
  }
  if (!dataplane_->settings().ipsec) return;
  // Addresses of interfaces, from which senders of what does not fit are answered.
  for (auto& [id, interface] : interfaces_.all())
    if (dataplane_->addresses_of(id) != routing().interfaces().addresses(interface.state()))
      refresh_interface(interface);
}

// Linux's counters stand still while hectod carries the packets: it is told of those that moved.
void Router::report_usage() {
  const int64_t since_1970 = std::time(nullptr) - int64_t{now_s_.load(std::memory_order_relaxed)};
  std::vector<SaReport> reports;
  std::map<SaId, uint64_t> packets;
  for (const SaView& sa : ipsec_->sas()) {
    if (sa.origin != RouteOrigin::kLinux) continue;
    const auto before = reported_packets_.find(sa.id);
    packets[sa.id] = sa.usage.packets;
    if (before == reported_packets_.end() ? sa.usage.packets == 0
                                          : before->second == sa.usage.packets)
      continue;
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
  reported_packets_ = std::move(packets);
  if (reports.empty()) return;
  const auto outcome = xfrm_requests_->report(reports);
  if (!outcome)
    note("ipsec: " + outcome.error().message);
  else if (outcome->failed > 0)
    note("ipsec: Linux did not take the usage of an SA: " + outcome->first_failure.message);
}

// Packets met a policy that nothing serves: the IKE daemon is asked for SAs (`start_action =
// trap`). Policies that have one and moved packets are in use: the kernel is told, or `inactivity`
// would end what hectod carries.
void Router::follow_policies() {
  std::map<PolicyTag, uint64_t> met;
  std::vector<IpsecSelector> used;
  for (const PolicyView& view : ipsec_->policies()) {
    const IpsecPolicy& policy = view.policy;
    if (policy.origin != RouteOrigin::kLinux || !policy.protection) continue;
    const PolicyTag tag{policy.direction, policy.index};
    met[tag] = view.packets;
    const auto before = policy_packets_.find(tag);
    if (view.packets == (before == policy_packets_.end() ? 0 : before->second)) continue;
    const bool out = policy.direction == PolicyDirection::kOut;
    if (!out || view.sa)
      used.push_back(out ? policy.selector : reversed(policy.selector));
    else if (auto asked = xfrm_requests_->acquire(policy); !asked)
      note("ipsec: " + asked.error().message);
  }
  policy_packets_ = std::move(met);
  if (xfrm_use_) xfrm_use_->touch(linux_side_->space(), used);
}

}  // namespace hecto::router
