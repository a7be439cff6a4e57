#include "router/dataplane/observe/reader.hpp"

#include <fmt/format.h>

#include <ctime>

namespace hecto::router {
namespace {

constexpr uint64_t kHeldBack_ns = 1'000'000;  // packets so new may still be overtaken
constexpr uint64_t kSmallStep_ns = 10'000'000;

int64_t steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

struct PointName {
  const char* name;
  const char* description;
};
constexpr PointName kPointNames[kCapturePoints] = {
    {"rx", "frames received"},
    {"tx", "frames transmitted"},
    {"drop", "frames dropped; the comment has the reason"},
    {"decap outer", "ESP received, encrypted; the comment has the SPI"},
    {"decap inner", "what was inside the ESP received"},
    {"encap inner", "packets before they are encrypted"},
    {"encap outer", "ESP to be sent, encrypted; the comment has the SPI"}};

CapturePoint point_of(unsigned interface) {
  if (interface < kMaxPorts) return CapturePoint::kReceive;
  if (interface < kOtherInterfaces) return CapturePoint::kTransmit;
  return static_cast<CapturePoint>(interface - kOtherInterfaces + kFirstOther);
}

bool of_port(CapturePoint point) {
  return point == CapturePoint::kReceive || point == CapturePoint::kTransmit;
}

std::string comment_of(const CaptureRecord& record) {
  if (record.reason != Reason::kNone)
    return fmt::format("dropped, {}: {}", info(record.reason).name,
                       info(record.reason).description);
  return record.spi == 0 ? std::string() : "SPI " + to_string(record.spi);
}

}  // namespace

CaptureReader::Anchor CaptureReader::Anchor::now() noexcept {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return {static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec),
          rte_rdtsc()};
}

CaptureReader::CaptureReader(std::shared_ptr<CaptureSession> session,
                             std::vector<std::string> ports, std::string application)
    : session_(std::move(session)),
      ports_(std::move(ports)),
      application_(std::move(application)),
      read_at_(steady_now()) {}

CaptureCounts CaptureReader::counts() const noexcept {
  CaptureCounts counts;
  for (const auto& tap : session_->taps())
    for (unsigned i = 0; i < kCaptureInterfaces; ++i) {
      counts.captured += tap->taken_at(i);
      counts.lost += tap->lost_at(i);
    }
  return counts;
}

std::chrono::steady_clock::duration CaptureReader::unread_for() const noexcept {
  return std::chrono::steady_clock::duration(steady_now() -
                                             read_at_.load(std::memory_order_relaxed));
}

void CaptureReader::describe(unsigned interface) {
  Interface& entry = interfaces_[interface];
  if (entry.number) return;
  const CapturePoint point = point_of(interface);
  const PointName& words = kPointNames[static_cast<unsigned>(point)];
  std::string name = words.name;
  if (of_port(point)) {
    const unsigned port = interface % kMaxPorts;
    const bool known = port < ports_.size() && !ports_[port].empty();
    name = fmt::format("{} {}", known ? ports_[port] : fmt::format("port {}", port), words.name);
  }
  const bool frames = of_port(point) || point == CapturePoint::kDrop;
  entry.number =
      writer_.interface(name, words.description, frames ? LinkType::kEthernet : LinkType::kRawIp,
                        session_->options().snaplen);
}

void CaptureReader::begin() {
  writer_.section(application_);
  const CaptureOptions& options = session_->options();
  for (unsigned i = 0; i < kCaptureInterfaces; ++i) {
    const CapturePoint point = point_of(i);
    if ((options.points & bit(point)) == 0) continue;
    if (of_port(point)) {
      const unsigned port = i % kMaxPorts;
      if (port >= ports_.size() || ports_[port].empty()) continue;
      if (options.match.port && *options.match.port != port) continue;
    }
    describe(i);
  }
}

// The clock is looked at anew with each piece, for TSC and wall clock drift apart.
uint64_t CaptureReader::time_of(uint64_t tsc, const Anchor& now) noexcept {
  const auto ago = static_cast<int64_t>(now.tsc - tsc);
  const auto ago_ns =
      static_cast<int64_t>(static_cast<double>(ago) * 1e9 / static_cast<double>(rte_get_tsc_hz()));
  uint64_t time_ns = now.time_ns - static_cast<uint64_t>(ago_ns);
  if (time_ns < last_time_ns_ && last_time_ns_ - time_ns < kSmallStep_ns) time_ns = last_time_ns_;
  return last_time_ns_ = time_ns;
}

CaptureRing* CaptureReader::oldest(uint64_t until_tsc) noexcept {
  CaptureRing* found = nullptr;
  uint64_t found_tsc = until_tsc;
  for (const auto& tap : session_->taps()) {
    const std::span<const std::byte> entry = tap->ring().front();
    if (entry.empty()) continue;
    uint64_t tsc;
    std::memcpy(&tsc, entry.data() + offsetof(CaptureRecord, tsc), sizeof tsc);
    if (tsc > found_tsc) continue;
    found = &tap->ring();
    found_tsc = tsc;
  }
  return found;
}

void CaptureReader::put(std::span<const std::byte> entry, const Anchor& now) {
  CaptureRecord record;
  std::memcpy(&record, entry.data(), sizeof record);
  describe(record.interface);
  Interface& interface = interfaces_[record.interface];
  ++interface.delivered;
  PcapngPacket packet;
  packet.interface = *interface.number;
  packet.time_ns = time_of(record.tsc, now);
  packet.bytes = entry.subspan(sizeof record, record.captured);
  packet.length = record.length;
  packet.direction = record.direction;
  packet.lost = record.lost;
  if (record.interface < kMaxPorts) packet.queue = record.queue;
  const std::string comment = comment_of(record);
  packet.comment = comment;
  writer_.packet(packet);
}

void CaptureReader::end() {
  const uint64_t now_ns = Anchor::now().time_ns;
  for (unsigned i = 0; i < kCaptureInterfaces; ++i) {
    PcapngStatistics statistics{start_.time_ns, now_ns, 0, 0, interfaces_[i].delivered};
    for (const auto& tap : session_->taps()) {
      statistics.accepted += tap->taken_at(i) + tap->lost_at(i);
      statistics.lost += tap->lost_at(i);
    }
    if (statistics.accepted > 0) describe(i);
    if (interfaces_[i].number) writer_.statistics(*interfaces_[i].number, statistics);
  }
}

std::optional<std::string> CaptureReader::read(size_t most_bytes) {
  const std::lock_guard lock(mutex_);
  read_at_.store(steady_now(), std::memory_order_relaxed);
  if (ended_) return std::nullopt;
  if (!begun_) begin();
  begun_ = true;
  const bool left = session_->left();  // before the rings are looked at
  const Anchor now = Anchor::now();
  const uint64_t until =
      left ? UINT64_MAX : now.tsc - kHeldBack_ns * rte_get_tsc_hz() / 1'000'000'000;
  while (writer_.size() < most_bytes) {
    CaptureRing* ring = oldest(until);
    if (ring == nullptr) {
      if (left) end();
      ended_ = left;
      break;
    }
    put(ring->front(), now);
    ring->pop();
  }
  return writer_.take();
}

}  // namespace hecto::router
