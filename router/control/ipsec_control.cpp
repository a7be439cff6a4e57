#include "router/control/ipsec_control.hpp"

#include <spdlog/spdlog.h>
#include <time.h>

#include "router/control/forwarding_plane.hpp"
#include "router/dataplane/nic_crypto/sessions.hpp"
#include "router/ipsec/wireshark_keys.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

uint32_t monotonic_s() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint32_t>(now.tv_sec);
}

esp::CryptoLibrary library_of(config::IpsecCrypto wanted) {
  if (wanted == config::IpsecCrypto::kAuto) return esp::best_crypto();
  return wanted == config::IpsecCrypto::kIpsecMb ? esp::CryptoLibrary::kIpsecMb
                                                 : esp::CryptoLibrary::kOpenSsl;
}

void log_ipsec(LogLevel level, const std::string& line) {
  spdlog::log(level == LogLevel::kWarning ? spdlog::level::warn : spdlog::level::info, line);
}

bool is_own(const Interfaces& interfaces, const IpAddress& address) {
  for (const auto& [id, state] : interfaces.all())
    for (const IpPrefix& own : interfaces.addresses(state))
      if (own.address == address) return true;
  return false;
}

}  // namespace

IpsecControl::IpsecControl(const config::IpsecConfig& config, const Routing& routing,
                           lookup::Reclaimer& readers, DeviceKeys* device_keys)
    : now_s_(monotonic_s()),
      crypto_(library_of(config.crypto)),
      nic_(nic_sessions(config, routing, now_s_)),
      ipsec_(options(config, readers, device_keys)) {}

IpsecControl::~IpsecControl() = default;

std::unique_ptr<NicSessions> IpsecControl::nic_sessions(const config::IpsecConfig& config,
                                                        const Routing& routing,
                                                        const std::atomic<uint32_t>& now_s) {
  if (config.nic == config::IpsecNic::kNever) return nullptr;
  NicSessions::Options options;
  options.own = [&routing](const IpAddress& address) {
    return is_own(routing.interfaces(), address);
  };
  options.now_s = [&now_s] { return now_s.load(std::memory_order_relaxed); };
  options.log = log_ipsec;
  return std::make_unique<NicSessions>(std::move(options));
}

IpsecOptions IpsecControl::options(const config::IpsecConfig& config, lookup::Reclaimer& readers,
                                   DeviceKeys* device_keys) const {
  IpsecOptions options;
  options.max_sas = config.max_sas;
  options.max_policies = config.max_policies;
  options.crypto = crypto_;
  options.readers = &readers;
  options.device_keys = device_keys;
  options.nic = nic_.get();
  options.now_s = [this] { return now_s(); };
  options.log = log_ipsec;
  return options;
}

std::optional<IpsecStages::Options> IpsecControl::stages() {
  IpsecStages::Options stages{ipsec_.view(), {}, &now_s_, crypto_};
  const auto mark = register_sa_mark();
  const auto trial = mark ? IpsecStages::create(stages) : tl::unexpected(mark.error());
  if (!trial) {
    found_ = trial.error().message;
    return std::nullopt;
  }
  stages.mark = *mark;
  found_ = esp::describe(crypto_);
  return stages;
}

void IpsecControl::commit(ForwardingPlane& plane) {
  now_s_.store(monotonic_s(), std::memory_order_relaxed);
  ipsec_.commit();
  plane.use_ipsec(!ipsec_.empty() || (nic_ && nic_->busy()));
}

std::vector<Expiry> IpsecControl::tick() {
  if (nic_) nic_->tick();
  std::vector<Expiry> over = ipsec_.due(now_s());
  for (const Expiry& expiry : over)
    spdlog::info("ipsec: SA {:#x} to {}: {} lifetime over ({})", expiry.id.spi.value(),
                 expiry.id.destination.to_string(), expiry.hard ? "hard" : "soft",
                 to_string(expiry.cause));
  return over;
}

Result<std::shared_ptr<const SecretBytes>> IpsecControl::keys(bool exported) const {
  if (!exported)
    return fail(
        "keys are not given away: write \"ipsec: {export_keys: true}\" in the configuration file "
        "and restart hectod",
        EACCES);
  auto lines = std::make_shared<SecretBytes>();
  constexpr size_t kLineBytes = 512;
  lines->reserve((ipsec_.statistics().sas + 1) * kLineBytes);
  // Wireshark reads no further than a name that it does not know, as that of ChaCha20 up to 4.0.
  for (const bool last : {false, true})
    ipsec_.each_key([&](const SaState& sa, const esp::Keys& keys) {
      if ((sa.transform.cipher == esp::Cipher::kChaCha20Poly1305) == last)
        append_esp_sa(sa, keys, *lines);
    });
  return lines;
}

}  // namespace hecto::router
