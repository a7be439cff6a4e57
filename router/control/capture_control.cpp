#include "router/control/capture_control.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <new>

#include "router/control/forwarding_plane.hpp"
#include "router/dataplane/observe/reader.hpp"
#include "router/dataplane/observe/trace.hpp"

namespace hecto::router {
namespace {

constexpr std::chrono::seconds kLongestUnread{10};

}  // namespace

Result<uint32_t> CaptureControl::start(CaptureOptions options, size_t buffer_bytes) {
  if (capture_)
    return fail(fmt::format("capture {} runs, and there is one at a time: it ends with its client, "
                            "or when nobody has read it for {} s",
                            capture_id_, kLongestUnread.count()),
                EBUSY);
  std::vector<std::string> ports;
  for (const PortStatus& port : plane_.ports()) {
    ports.resize(std::max<size_t>(ports.size(), port.id + 1u));
    ports[port.id] = port.name();
  }
  options.threads = static_cast<unsigned>(plane_.workers().size()) + 1;  // the slow path
  options.ring_bytes = buffer_bytes / options.threads;
  try {
    auto session = std::make_shared<CaptureSession>(options);
    capture_ = std::make_shared<CaptureReader>(session, std::move(ports), "hectod " HECTO_VERSION);
    plane_.set_capture(std::make_shared<CaptureUse>(std::move(session)));
  } catch (const std::bad_alloc&) {
    capture_.reset();
    return fail(fmt::format("no memory for a buffer of {} MiB", buffer_bytes >> 20), ENOMEM);
  }
  taking_ = true;
  plane_.publish();
  spdlog::info("capture {}: begun", ++capture_id_);
  return capture_id_;
}

std::shared_ptr<CaptureReader> CaptureControl::find(uint32_t id) const {
  return id == capture_id_ ? capture_ : nullptr;
}

void CaptureControl::stop() {
  if (!taking_) return;
  taking_ = false;
  plane_.set_capture(nullptr);
  plane_.publish();
}

void CaptureControl::end() {
  stop();
  if (!capture_) return;
  const CaptureCounts counts = capture_->counts();
  spdlog::info("capture {}: ended; {} packets, {} lost", capture_id_, counts.captured, counts.lost);
  capture_.reset();
}

void CaptureControl::watch() {
  if (!capture_ || capture_->unread_for() < kLongestUnread) return;
  spdlog::warn("capture {}: its client has not read for {} s", capture_id_, kLongestUnread.count());
  end();
}

uint32_t CaptureControl::start_trace(const PacketMatch& match, unsigned packets) {
  trace_ = std::make_shared<TraceSession>(match, packets, static_cast<uint16_t>(++trace_id_));
  plane_.set_trace(trace_);
  plane_.publish();
  return trace_id_;
}

std::shared_ptr<const TraceSession> CaptureControl::trace(uint32_t id) const {
  return id == trace_id_ ? trace_ : nullptr;
}

void CaptureControl::end_trace() {
  trace_.reset();
  plane_.set_trace(nullptr);
  plane_.publish();
}

}  // namespace hecto::router
