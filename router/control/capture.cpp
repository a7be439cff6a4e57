// Captures as control has them: one at a time, from its start to the client's end.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "router/control/router.hpp"
#include "router/dataplane/observe/reader.hpp"
#include "router/ipsec/wireshark_keys.hpp"

namespace hecto::router {
namespace {

constexpr std::chrono::seconds kLongestUnread{10};

}  // namespace

Result<uint32_t> Router::start_capture(CaptureOptions options, size_t buffer_bytes) {
  if (capture_)
    return fail(fmt::format("capture {} runs, and there is one at a time: it ends with its client, "
                            "or when nobody has read it for {} s",
                            capture_id_, kLongestUnread.count()),
                EBUSY);
  std::vector<std::string> ports;
  for (const auto& [name, port] : dataplane_->ports()) {
    ports.resize(std::max<size_t>(ports.size(), port->id() + 1u));
    ports[port->id()] = name;
  }
  options.threads = static_cast<unsigned>(dataplane_->workers().size()) + 1;  // the slow path
  options.ring_bytes = buffer_bytes / options.threads;
  try {
    auto session = std::make_shared<CaptureSession>(options);
    capture_ = std::make_shared<CaptureReader>(session, std::move(ports), "hectod " HECTO_VERSION);
    dataplane_->settings().capture = std::make_shared<CaptureUse>(std::move(session));
  } catch (const std::bad_alloc&) {
    capture_.reset();
    return fail(fmt::format("no memory for a buffer of {} MiB", buffer_bytes >> 20), ENOMEM);
  }
  dataplane_->publish();
  spdlog::info("capture {}: begun", ++capture_id_);
  return capture_id_;
}

std::shared_ptr<CaptureReader> Router::capture(uint32_t id) const {
  return id == capture_id_ ? capture_ : nullptr;
}

void Router::stop_capture() {
  if (!dataplane_->settings().capture) return;
  dataplane_->settings().capture.reset();
  dataplane_->publish();
}

void Router::end_capture() {
  stop_capture();
  if (!capture_) return;
  const CaptureCounts counts = capture_->counts();
  spdlog::info("capture {}: ended; {} packets, {} lost", capture_id_, counts.captured, counts.lost);
  capture_.reset();
}

void Router::watch_capture() {
  if (!capture_ || capture_->unread_for() < kLongestUnread) return;
  spdlog::warn("capture {}: its client has not read for {} s", capture_id_, kLongestUnread.count());
  end_capture();
}

Result<std::shared_ptr<const SecretBytes>> Router::esp_keys() const {
  if (!config_.ipsec.export_keys)
    return fail(
        "keys are not given away: write \"ipsec: {export_keys: true}\" in the configuration file "
        "and restart hectod",
        EACCES);
  auto lines = std::make_shared<SecretBytes>();
  constexpr size_t kLineBytes = 512;
  lines->reserve((ipsec_->statistics().sas + 1) * kLineBytes);
  // Wireshark reads no further than a name that it does not know, as that of ChaCha20 up to 4.0.
  for (const bool last : {false, true})
    ipsec_->each_key([&](const SaState& sa, const esp::Keys& keys) {
      if ((sa.transform.cipher == esp::Cipher::kChaCha20Poly1305) == last)
        append_esp_sa(sa, keys, *lines);
    });
  return lines;
}

}  // namespace hecto::router
