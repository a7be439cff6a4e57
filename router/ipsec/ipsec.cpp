#include "router/ipsec/ipsec.hpp"

#include <fmt/format.h>
#include <time.h>

#include <utility>

namespace hecto::router {
namespace {

uint32_t monotonic_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint32_t>(now.tv_sec);
}

IpsecOptions with_defaults(IpsecOptions options) {
  if (!options.now_s) options.now_s = monotonic_s;
  if (!options.log) options.log = [](LogLevel, const std::string&) {};
  return options;
}

std::string_view owner(RouteOrigin origin) {
  if (origin == RouteOrigin::kLinux) return "Linux";
  return origin == RouteOrigin::kFile ? "the file" : "the API";
}

}  // namespace

Ipsec::Ipsec(IpsecOptions options)
    : options_(with_defaults(std::move(options))),
      sas_(options_, templates_),
      policies_(options_, templates_) {}

Ipsec::~Ipsec() = default;

esp::IpsecView Ipsec::view() const {
  constexpr auto kOut = PolicyDirection::kOut, kIn = PolicyDirection::kIn,
                 kForward = PolicyDirection::kForward;
  return {&sas_.sad(),
          &policies_.spd(kOut),
          &policies_.spd(kIn),
          &policies_.spd(kForward),
          &policies_.unseen(kOut),
          &policies_.unseen(kIn),
          &policies_.unseen(kForward),
          &sas_.peers()};
}

Result<bool> Ipsec::add_sa(SaState state) {
  const SaEntry* there = sas_.find(state.id);
  if (there != nullptr && there->state.origin != state.origin) {
    return fail(fmt::format("SA {} is there already, from {}; remove it there, or use another SPI",
                            to_string(state.id), owner(there->state.origin)),
                EEXIST);
  }
  return sas_.put(std::move(state));
}

Result<void> Ipsec::remove_sa(const SaId& id, RouteOrigin origin) {
  const SaEntry* there = sas_.find(id);
  if (there == nullptr || there->state.origin != origin)
    return fail(fmt::format("there is no SA {}", to_string(id)), ENOENT);
  sas_.remove(id);
  return {};
}

Result<bool> Ipsec::add_policy(const IpsecPolicy& policy) {
  return policies_.put(policy);
}

Result<void> Ipsec::remove_policy(const IpsecPolicy& policy) {
  if (policies_.remove(policy)) return {};
  return fail(fmt::format("there is no policy {}", to_string(policy)), ENOENT);
}

void Ipsec::sa(SaState state) {
  const SaId id = state.id;
  state.origin = RouteOrigin::kLinux;
  const SaEntry* there = sas_.find(id);
  if (there != nullptr && there->state.origin != RouteOrigin::kLinux)
    options_.log(LogLevel::kWarning,
                 fmt::format("ipsec: Linux has an SA {} of its own: it takes the other's place",
                             to_string(id)));
  const auto put = sas_.put(std::move(state));
  if (put) return;
  ++sas_refused_;
  sa_removed(id);  // one that Linux replaced must not live on with its old keys
  if (put.error().error_number == ENOSPC)
    warn_once(warned_of_sas_, fmt::format("ipsec: SA {} of Linux is left out: {}; others that do "
                                          "not fit are counted",
                                          to_string(id), put.error().message));
  else
    options_.log(LogLevel::kWarning, fmt::format("ipsec: Linux: {}", put.error().message));
}

void Ipsec::sa_removed(const SaId& id) {
  const SaEntry* there = sas_.find(id);
  if (there != nullptr && there->state.origin == RouteOrigin::kLinux) sas_.remove(id);
}

void Ipsec::sas_flushed() {
  sas_.flush(RouteOrigin::kLinux);
}

void Ipsec::policy(const IpsecPolicy& policy) {
  IpsecPolicy linux_policy = policy;
  linux_policy.origin = RouteOrigin::kLinux;
  const auto put = policies_.put(linux_policy);
  if (put) return;
  ++policies_refused_;
  policies_.leave_out(linux_policy);
  warn_once(warned_of_policies_,
            fmt::format("ipsec: policy {} of Linux is left out: {}; packets that no policy of a "
                        "better priority holds for are dropped (policy_left_out); others that do "
                        "not fit are counted",
                        to_string(policy), put.error().message));
}

void Ipsec::policy_removed(const IpsecPolicy& policy) {
  IpsecPolicy linux_policy = policy;
  linux_policy.origin = RouteOrigin::kLinux;
  if (!policies_.remove(linux_policy)) left_out_may_be_gone_ = policies_.incomplete();
}

void Ipsec::policies_flushed() {
  policies_.flush(RouteOrigin::kLinux);
}

void Ipsec::ipsec_resync_begin() {
  sas_.begin_resync();
  policies_.begin_resync();
  ++resyncs_;
  resyncing_ = true;
  left_out_may_be_gone_ = false;
  warned_of_sas_ = warned_of_policies_ = false;
}

void Ipsec::ipsec_resync_end() {
  if (!std::exchange(resyncing_, false)) return;
  const size_t sas = sas_.end_resync();
  const size_t policies = policies_.end_resync();
  swept_ += sas + policies;
  options_.log(LogLevel::kInfo,
               fmt::format("ipsec: Linux's state is read: {} SAs and {} policies, {} old ones gone",
                           sas_.size(), policies_.size(), sas + policies));
}

void Ipsec::commit() {
  templates_.resolve();
  policies_.publish();
  Retired retired{0, sas_.take_removed(), policies_.take_removed()};
  if (!retired.sas.empty() || !retired.policies.empty()) {
    retired.token = options_.readers->start();
    retired_.push_back(std::move(retired));
  }
  reclaim();
}

void Ipsec::reclaim() {
  sas_.reclaim();
  while (!retired_.empty() && options_.readers->passed(retired_.front().token)) {
    for (const auto& sa : retired_.front().sas) sas_.release(*sa);
    retired_.pop_front();
  }
}

std::vector<SaView> Ipsec::sas() const {
  return sas_.views(policies_.policies_by_sa());
}

std::optional<SaView> Ipsec::find(const SaId& id) const {
  const SaEntry* entry = sas_.find(id);
  if (entry == nullptr) return std::nullopt;
  return sas_.view(*entry);
}

IpsecStatistics Ipsec::statistics() const {
  IpsecStatistics statistics;
  statistics.sas = static_cast<uint32_t>(sas_.size());
  statistics.sa_totals = sas_.totals();
  statistics.policies = static_cast<uint32_t>(policies_.size());
  statistics.max_sas = options_.max_sas;
  statistics.max_policies = options_.max_policies;
  statistics.policies_without_sa = templates_.policies_without_sa();
  statistics.sas_refused = sas_refused_;
  statistics.policies_refused = policies_refused_;
  statistics.contradictions = policies_.contradictions();
  statistics.resyncs = resyncs_;
  statistics.swept = swept_;
  return statistics;
}

void Ipsec::warn_once(bool& warned, const std::string& line) const {
  if (!std::exchange(warned, true)) options_.log(LogLevel::kWarning, line);
}

}  // namespace hecto::router
