#include "router/dataplane/slow_path.hpp"

#include <poll.h>

#include <cstring>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "router/dataplane/observe/trace.hpp"

namespace hecto::router {
namespace {

constexpr size_t kFrameBytes = 16 * 1024;  // above any MTU with its L2 header
constexpr unsigned kBurst = 32;
constexpr long kShortWait_ns = 100'000;
constexpr long kLongWait_ns = 500'000;
constexpr unsigned kTurnsBeforeLongWait = 2000;

bool whole_ipv4(const uint8_t* ip, uint32_t bytes) noexcept {
  const uint32_t header = (ip[0] & 0xf) * 4u;
  return ip[0] >> 4 == 4 && header >= kIpv4Bytes && header <= bytes && load16_be(ip + 2) == bytes;
}

}  // namespace

SlowPath::SlowPath(const Options& options)
    : options_(options),
      pipeline_({options.qsbr_thread, options.tables, nullptr, options.ipsec}, *this),
      next_twins_(std::make_shared<TwinList>()),
      twins_(next_twins_),
      buffer_(kFrameBytes),
      chunk_(std::make_unique<Chunk>()) {}

SlowPath::~SlowPath() {
  stop();
}

void SlowPath::start() {
  thread_ = std::thread([this] { run(); });
}

void SlowPath::stop() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

void SlowPath::set_twins(std::shared_ptr<const TwinList> twins) {
  const std::lock_guard lock(twins_mutex_);
  next_twins_ = std::move(twins);
}

unsigned SlowPath::queued() const {
  unsigned count = 0;
  for (const rte_ring* ring : options_.punts) count += rte_ring_count(ring);
  return count;
}

void SlowPath::refresh() {
  // In this order: with a snapshot that lacks a port come twins that do.
  const Snapshot* newest = options_.snapshot->load(std::memory_order_acquire);
  {
    const std::lock_guard lock(twins_mutex_);
    if (twins_ != next_twins_) twins_ = next_twins_;
  }
  // By number: the new one may lie where an old one was freed.
  if (newest->generation == generation_) return;
  generation_ = newest->generation;
  snapshot_ = newest;
  pipeline_.use(*newest, newest->slow_path);
  if (newest->punt_pps == punt_pps_) return;
  punt_pps_ = newest->punt_pps;
  for (size_t i = 0; i < kReasonCount; ++i)
    buckets_[i].configure(rte_get_tsc_hz(), newest->punt_pps[i], punt_burst(newest->punt_pps[i]));
}

// Hands the frame to Linux; kNone when it took it.
Reason SlowPath::write(const PuntEntry& entry) {
  Twin* twin = entry.interface < twins_->by_interface.size() ? twins_->by_interface[entry.interface]
                                                             : nullptr;
  if (twin == nullptr) return Reason::kNoLinux;
  const rte_mbuf* packet = entry.packet;
  const uint32_t bytes = packet->pkt_len;
  if (bytes > buffer_.size() || bytes < kEthernetBytes) return Reason::kTruncated;
  const auto* frame =
      static_cast<const uint8_t*>(rte_pktmbuf_read(packet, 0, bytes, buffer_.data()));
  if (frame == nullptr) return Reason::kTruncated;
  std::span<const uint8_t> whole(frame, bytes);
  if (twin->vlan != 0 && bytes >= kEthernetBytes + kVlanTagBytes &&
      load16_native(frame + 12) == kEtherVlan) {
    if (frame != buffer_.data()) std::memcpy(buffer_.data(), frame, bytes);
    std::memmove(buffer_.data() + kVlanTagBytes, buffer_.data(), 12);
    whole = {buffer_.data() + kVlanTagBytes, bytes - kVlanTagBytes};
  }
  const TapIo io = twin->tap.write(whole);
  if (io.status == TapStatus::kOk) return Reason::kNone;
  if (io.status == TapStatus::kGone) twin->gone.store(true, std::memory_order_relaxed);
  if (io.status == TapStatus::kDown) return Reason::kInterfaceDown;
  return io.status == TapStatus::kGone ? Reason::kNoLinux : Reason::kTapFull;
}

// Counts it, and shows it to who looks on.
void SlowPath::drop(const rte_mbuf* packet, Reason reason, InterfaceId interface) {
  pipeline_.counters().reasons.dropped[static_cast<size_t>(reason)].add(1);
  if (pipeline_.observer().active()) pipeline_.observer().dropped(packet, reason, interface);
}

void SlowPath::deliver(const PuntEntry& entry, uint64_t now) {
  const auto index = static_cast<size_t>(entry.reason);
  Reason dropped = entry.reason;
  if (buckets_[index].take(now)) dropped = write(entry);
  const bool delivered = dropped == Reason::kNone;
  if (delivered)
    pipeline_.counters().reasons.punted[index].add(1);
  else
    drop(entry.packet, dropped, entry.interface);
  // Not one that a session before left behind.
  if (entry.trace != 0 && snapshot_->trace && snapshot_->trace->id() == entry.session) {
    TraceEvent event;
    event.number = entry.trace;
    event.kind = delivered ? TraceKind::kDelivered : TraceKind::kDropped;
    event.stage = Stage::kPunt;
    event.reason = delivered ? entry.reason : dropped;
    event.interface = entry.interface;
    snapshot_->trace->record(event);
  }
  rte_pktmbuf_free(entry.packet);
}

unsigned SlowPath::deliver_punts() {
  unsigned total = 0;
  const uint64_t now = rte_rdtsc();
  for (rte_ring* ring : options_.punts) {
    PuntEntry entries[kBurst];
    const unsigned count =
        rte_ring_sc_dequeue_burst_elem(ring, entries, sizeof(PuntEntry), kBurst, nullptr);
    for (unsigned i = 0; i < count; ++i) deliver(entries[i], now);
    total += count;
  }
  return total;
}

unsigned SlowPath::inject(Twin& twin) {
  unsigned frames = 0;
  // Room in front for a tag.
  const std::span<uint8_t> room(buffer_.data() + kVlanTagBytes, buffer_.size() - kVlanTagBytes);
  for (; frames < kBurst; ++frames) {
    const TapIo io = twin.tap.read(room);
    if (io.status == TapStatus::kGone) twin.gone.store(true, std::memory_order_relaxed);
    if (io.status != TapStatus::kOk) break;
    injected_.add(1);
    uint8_t* frame = room.data();
    size_t bytes = io.bytes;
    if (twin.vlan != 0) {
      frame -= kVlanTagBytes;
      std::memmove(frame, frame + kVlanTagBytes, 12);
      const uint16_t tag[2] = {kEtherVlan, __builtin_bswap16(twin.vlan)};
      std::memcpy(frame + 12, tag, sizeof tag);
      bytes += kVlanTagBytes;
    }
    rte_mbuf* packet = rte_pktmbuf_alloc(twin.pool);
    char* space =
        packet == nullptr ? nullptr : rte_pktmbuf_append(packet, static_cast<uint16_t>(bytes));
    if (space == nullptr) {
      rte_pktmbuf_free(packet);
      twin.no_mbuf.add(1);
      pipeline_.counters().reasons.dropped[static_cast<size_t>(Reason::kTransmitFull)].add(1);
      continue;
    }
    std::memcpy(space, frame, bytes);
    packet->port = twin.port;
    send(twin, packet);
  }
  return frames;
}

// What an outbound policy protects goes to its tunnel's end; all else where Linux has sent it.
void SlowPath::send(Twin& twin, rte_mbuf* packet) {
  if (options_.ipsec != nullptr && enter_lane(twin, packet)) {
    if (const auto handed = pipeline_.from_linux(*chunk_)) {
      injected_handed_.add(*handed);
      return;
    }
  }
  injected_handed_.add(1);
  pipeline_.transmit(twin.port, packet);
}

// The chunk of this one packet. False: it is no whole IP packet to one station, so no policy's.
bool SlowPath::enter_lane(const Twin& twin, rte_mbuf* packet) noexcept {
  const uint8_t* frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  const unsigned l2 = kEthernetBytes + (twin.vlan != 0 ? kVlanTagBytes : 0u);
  if (packet->data_len < l2 + kIpv4Bytes || (frame[0] & 1) != 0) return false;
  const uint16_t type = load16_native(frame + l2 - 2);
  const uint8_t* ip = frame + l2;
  const uint32_t bytes = packet->data_len - l2;
  Chunk& chunk = *chunk_;
  chunk.v4.count = chunk.v6.count = chunk.refused_count = 0;
  const auto put = [&](auto& lane) {
    lane.packets[0] = packet;
    lane.ingress[0] = {twin.interface, l2};
    lane.count = 1;
    return true;
  };
  if (type == kEtherIpv4 && whole_ipv4(ip, bytes)) return put(chunk.v4);
  if (type == kEtherIpv6 && bytes >= kIpv6Bytes && load16_be(ip + 4) + kIpv6Bytes == bytes)
    return put(chunk.v6);
  return false;
}

// Not back to Linux, where it comes from.
void SlowPath::take_refused(Chunk& chunk) noexcept {
  for (unsigned i = 0; i < chunk.refused_count; ++i) {
    const Refused& refused = chunk.refused[i];
    drop(refused.packet, refused.reason, refused.interface);
    rte_pktmbuf_free(refused.packet);
  }
  chunk.refused_count = 0;
}

void SlowPath::wait_for_work(unsigned idle_turns) {
  std::vector<pollfd> fds;
  for (const auto& twin : twins_->twins)
    if (!twin->gone.load(std::memory_order_relaxed)) fds.push_back({twin->tap.fd(), POLLIN, 0});
  const timespec time{0, idle_turns < kTurnsBeforeLongWait ? kShortWait_ns : kLongWait_ns};
  rte_rcu_qsbr_thread_offline(options_.qsbr, options_.qsbr_thread);
  ppoll(fds.data(), fds.size(), &time, nullptr);
  rte_rcu_qsbr_thread_online(options_.qsbr, options_.qsbr_thread);
}

void SlowPath::run() {
  const bool registered = rte_thread_register() == 0;  // gives this thread a mempool cache
  rte_rcu_qsbr_thread_register(options_.qsbr, options_.qsbr_thread);
  rte_rcu_qsbr_thread_online(options_.qsbr, options_.qsbr_thread);
  unsigned idle_turns = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    refresh();
    unsigned work = deliver_punts();
    for (const auto& twin : twins_->twins)
      if (!twin->gone.load(std::memory_order_relaxed)) work += inject(*twin);
    pipeline_.flush();
    rte_rcu_qsbr_quiescent(options_.qsbr, options_.qsbr_thread);
    idle_turns = work > 0 ? 0 : idle_turns + 1;
    if (work == 0) wait_for_work(idle_turns);
  }
  deliver_punts();
  rte_rcu_qsbr_thread_offline(options_.qsbr, options_.qsbr_thread);
  rte_rcu_qsbr_thread_unregister(options_.qsbr, options_.qsbr_thread);
  if (registered) rte_thread_unregister();
}

}  // namespace hecto::router
