// IPsec's part of control: what encrypts, the mirror of Linux's SAs and policies, lifetimes.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <time.h>

#include <ctime>

#include "router/router.hpp"

namespace hecto::router {
namespace {

uint32_t monotonic_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint32_t>(now.tv_sec);
}

}  // namespace

// Nothing, with a note, where this machine cannot: the router goes on without.
std::optional<IpsecStages::Options> Router::start_ipsec() {
  now_s_ = monotonic_s();
  IpsecOptions options;
  options.max_sas = config_.ipsec.max_sas;
  options.max_policies = config_.ipsec.max_policies;
  options.readers = &tables_->qsbr();
  options.now_s = [this] { return now_s_.load(std::memory_order_relaxed); };
  options.log = [](LogLevel level, const std::string& line) {
    spdlog::log(level == LogLevel::kWarning ? spdlog::level::warn : spdlog::level::info, line);
  };
  ipsec_ = std::make_unique<Ipsec>(std::move(options));
  IpsecStages::Options stages{ipsec_->view(), -1, &now_s_};
  const auto field = register_sa_field();
  const auto trial = field ? IpsecStages::create(stages) : tl::unexpected(field.error());
  if (!trial) {
    ipsec_found_ = trial.error().message;
    return std::nullopt;
  }
  stages.sa_field = *field;
  ipsec_found_ = esp::Engine::describe();
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
  xfrm_mirror_ = std::move(*mirror);
  watch(xfrm_mirror_->fd());
  return {};
}

// Workers run the stages of IPsec only while there is something to do for them.
void Router::commit_ipsec() {
  now_s_.store(monotonic_s(), std::memory_order_relaxed);
  ipsec_->commit();
  const bool wanted = !ipsec_->empty();
  bool& used = dataplane_->settings().ipsec;
  snapshot_dirty_ |= used != wanted;
  used = wanted;
}

// What the kernel would have said, upon which the IKE daemon makes a new SA or forgets this one.
void Router::watch_ipsec() {
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
    ask_for_sas();
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
// trap`).
void Router::ask_for_sas() {
  if (ipsec_->statistics().policies_without_sa == 0) return;
  std::map<uint32_t, uint64_t> wanted;
  for (const PolicyView& view : ipsec_->policies()) {
    if (view.policy.origin != RouteOrigin::kLinux || view.sa || !view.policy.protection ||
        view.policy.direction != PolicyDirection::kOut)
      continue;
    uint64_t& seen = wanted[view.policy.index] = view.packets;
    const auto before = wanted_packets_.find(view.policy.index);
    if (seen == (before == wanted_packets_.end() ? 0 : before->second)) continue;
    if (auto asked = xfrm_requests_->acquire(view.policy); !asked)
      note("ipsec: " + asked.error().message);
  }
  wanted_packets_ = std::move(wanted);
}

}  // namespace hecto::router
