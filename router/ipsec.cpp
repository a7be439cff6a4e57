// IPsec's part of control: what encrypts, the mirror of Linux's SAs and policies, lifetimes.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <time.h>

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
  xfrm_mirror_ = std::move(*mirror);
  watch(xfrm_mirror_->fd());
  return {};
}

// Workers run the stages of IPsec only while there is something to do for them.
void Router::commit_ipsec() {
  now_s_.store(monotonic_s(), std::memory_order_relaxed);
  ipsec_->commit();
  const IpsecStatistics statistics = ipsec_->statistics();
  const bool wanted = statistics.sas + statistics.policies > 0;
  bool& used = dataplane_->settings().ipsec;
  snapshot_dirty_ |= used != wanted;
  used = wanted;
}

void Router::watch_ipsec() {
  for (const Expiry& expiry : ipsec_->due(now_s_.load(std::memory_order_relaxed)))
    spdlog::info("ipsec: SA {} of {}: {} lifetime over ({})", fmt::format("{:#x}", expiry.id.spi),
                 expiry.id.destination.to_string(), expiry.hard ? "hard" : "soft",
                 to_string(expiry.cause));
  // Addresses of interfaces, from which senders of what does not fit are answered.
  if (!dataplane_->settings().ipsec) return;
  for (auto& [id, interface] : interfaces_.all())
    if (dataplane_->addresses_of(id) != routing().interfaces().addresses(interface.state()))
      refresh_interface(interface);
}

}  // namespace hecto::router
