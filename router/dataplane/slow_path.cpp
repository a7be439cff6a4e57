#include "router/dataplane/slow_path.hpp"

#include <poll.h>

#include <cstring>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "base/frame_tags.hpp"
#include "router/dataplane/observe/trace.hpp"
#include "router/dataplane/stages/framed_ip.hpp"
#include "router/dataplane/tables/inherited_tables.hpp"
#include "router/process/privileges/privileges.hpp"

namespace hecto::router {
namespace {

constexpr size_t kFrameBytes = 16 * 1024;  // above any MTU with its L2 header
constexpr unsigned kBurst = 32;
constexpr unsigned kPuntsATurn = 128;
constexpr long kShortWait_ns = 100'000;
constexpr long kLongWait_ns = 500'000;
constexpr unsigned kTurnsBeforeLongWait = 2000;

// Of the tags, if the frame begins with them.
size_t tag_bytes(const uint8_t* frame, size_t bytes, const VlanTags& tags) {
  const size_t length = tags.count() * kVlanTagBytes;
  const uint16_t first = tags.service ? kEtherServiceVlan : kEtherVlan;
  if (length == 0 || bytes < kEthernetBytes + length || load16_native(frame + 12) != first)
    return 0;
  return tags.count() == 1 || load16_native(frame + 16) == kEtherVlan ? length : 0;
}

// In front of the frame, where there is room. Returns where it begins now.
uint8_t* put_tags(uint8_t* frame, const VlanTags& tags) {
  const size_t length = tags.count() * kVlanTagBytes;
  if (length == 0) return frame;
  uint8_t* const start = frame - length;
  std::memmove(start, frame, 12);
  const uint16_t words[4] = {tags.service ? kEtherServiceVlan : kEtherVlan,
                             __builtin_bswap16(tags.first()), kEtherVlan,
                             __builtin_bswap16(tags.vlan)};
  std::memcpy(start + 12, words, length);
  return start;
}

// A port may show a tag of 802.1ad as one of 802.1Q, by which Linux has no device.
void name_service_tag(rte_mbuf* packet) {
  auto* const type = rte_pktmbuf_mtod_offset(packet, uint8_t*, 12);
  if (packet->data_len >= kEthernetBytes && load16_native(type) == kEtherVlan)
    std::memcpy(type, &kEtherServiceVlan, sizeof kEtherServiceVlan);
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
  for (const PuntQueues& queues : options_.punts)
    for (const rte_ring* ring : queues) count += rte_ring_count(ring);
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
  pipeline_.use(newest->inherited ? newest->inherited->views(options_.socket) : options_.tables);
  meter_.configure(rte_get_tsc_hz(), {newest->punt_pps, newest->punt_class_pps});
}

// Hands the frame to Linux; kNone when it took it.
Reason SlowPath::write(const PuntEntry& entry) {
  rte_mbuf* const packet = entry.packet;
  Twin* twin = entry.interface < twins_->by_interface.size() ? twins_->by_interface[entry.interface]
                                                             : nullptr;
  if (twin == nullptr && packet->port < kMaxPorts) twin = twins_->by_port[packet->port];
  if (twin == nullptr) return Reason::kNoLinux;
  const uint32_t bytes = packet->pkt_len;
  if (bytes > buffer_.size() || bytes < kEthernetBytes) return Reason::kTruncated;
  if (entry.interface < kMaxInterfaces && snapshot_->interfaces[entry.interface].service_tag)
    name_service_tag(packet);
  const auto* frame =
      static_cast<const uint8_t*>(rte_pktmbuf_read(packet, 0, bytes, buffer_.data()));
  if (frame == nullptr) return Reason::kTruncated;
  std::span<const uint8_t> whole(frame, bytes);
  if (const size_t tags = tag_bytes(frame, bytes, twin->tags); tags > 0) {
    if (frame != buffer_.data()) std::memcpy(buffer_.data(), frame, bytes);
    std::memmove(buffer_.data() + tags, buffer_.data(), 12);
    whole = {buffer_.data() + tags, bytes - tags};
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
  dropped_at_.add(reason, interface);
  if (pipeline_.observer().active()) pipeline_.observer().dropped(packet, reason, interface);
}

void SlowPath::deliver(const PuntEntry& entry, uint64_t now) {
  const auto index = static_cast<size_t>(entry.reason);
  Reason dropped = entry.reason;
  // A redirect's packet is one to be forwarded; each worker has bounded them.
  if (entry.reason == Reason::kRedirect ||
      meter_.take(entry.reason, entry.punt_class, entry.interface, now))
    dropped = write(entry);
  const bool delivered = dropped == Reason::kNone;
  if (delivered) {
    pipeline_.counters().reasons.punted[index].add(1);
    punted_at_.add(entry.reason, entry.interface);
    meter_.passed(entry.punt_class);
  } else {
    drop(entry.packet, dropped, entry.interface);
    meter_.dropped(entry.punt_class, entry.interface);
  }
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

// A burst of each worker, of the first priority that has any.
unsigned SlowPath::deliver_first(uint64_t now) {
  unsigned total = 0;
  for (unsigned priority = 0; priority < kPuntPriorities && total == 0; ++priority) {
    for (const PuntQueues& queues : options_.punts) {
      PuntEntry entries[kBurst];
      const unsigned count = rte_ring_sc_dequeue_burst_elem(queues[priority], entries,
                                                            sizeof(PuntEntry), kBurst, nullptr);
      for (unsigned i = 0; i < count; ++i) deliver(entries[i], now);
      total += count;
    }
  }
  return total;
}

// As many as leave Linux's own packets their turn.
unsigned SlowPath::deliver_punts() {
  unsigned total = 0;
  while (total < kPuntsATurn) {
    const unsigned count = deliver_first(rte_rdtsc());
    if (count == 0) break;
    total += count;
  }
  return total;
}

unsigned SlowPath::inject(Twin& twin) {
  unsigned frames = 0;
  constexpr size_t kBefore = kMostL2Bytes - kEthernetBytes;  // tags
  const std::span<uint8_t> room(buffer_.data() + kBefore, buffer_.size() - kBefore);
  for (; frames < kBurst; ++frames) {
    const TapIo io = twin.tap.read(room);
    if (io.status == TapStatus::kGone) twin.gone.store(true, std::memory_order_relaxed);
    if (io.status != TapStatus::kOk) break;
    injected_.add(1);
    const uint8_t* const frame = put_tags(room.data(), twin.tags);
    const size_t bytes = io.bytes + static_cast<size_t>(room.data() - frame);
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

// What an outbound policy protects goes to its tunnel's end; all else where Linux has sent it, if
// the policies let it.
void SlowPath::send(Twin& twin, rte_mbuf* packet) {
  if (pipeline_.checks_linux()) {
    const uint8_t* const data = rte_pktmbuf_mtod(packet, const uint8_t*);
    const FramedIp frame = find_ip(data, packet->data_len);
    // To one station, and as it is read here: it can be protected.
    const bool readable = frame.plain || by_tags(twin, packet) != kNoInterface;
    const bool by_policy = frame.ip != nullptr && readable && frame.whole && (data[0] & 1) == 0;
    if (const Reason reason = pipeline_.check_linux(frame, twin.interface, by_policy);
        reason != Reason::kNone) {
      drop(packet, reason, twin.interface);
      rte_pktmbuf_free(packet);
      return;
    }
    if (by_policy && options_.ipsec != nullptr) {
      enter_lane(twin, packet, frame);
      if (const auto handed = pipeline_.from_linux(*chunk_)) {
        injected_handed_.add(*handed);
        return;
      }
    }
  }
  if (pipeline_.nat().on()) {
    const FramedIp frame = find_ip(rte_pktmbuf_mtod(packet, const uint8_t*), packet->data_len);
    const InterfaceId tagged = by_tags(twin, packet);
    const auto reason =
        pipeline_.nat().from_linux(packet, frame, tagged == kNoInterface ? twin.interface : tagged);
    if (!reason) {  // a worker has it
      injected_handed_.add(1);
      return;
    }
    if (*reason != Reason::kNone) {
      drop(packet, *reason, twin.interface);
      rte_pktmbuf_free(packet);
      return;
    }
  }
  injected_handed_.add(1);
  if (snapshot_->interfaces[twin.interface].counters) {
    InterfaceCounters& counters = pipeline_.counters().interfaces[twin.interface];
    counters.tx_packets.add(1);
    counters.tx_bytes.add(packet->pkt_len - kEthernetBytes - twin.tags.count() * kVlanTagBytes);
  }
  pipeline_.transmit(twin.port, packet);
}

// The interface of the twin's port whose tags a frame of Linux has; kNoInterface: none's.
InterfaceId SlowPath::by_tags(const Twin& twin, const rte_mbuf* packet) const noexcept {
  const FrameTags l2 = read_frame_tags(rte_pktmbuf_mtod(packet, const uint8_t*), packet->data_len);
  return l2.tags.vlan == 0 || is_vlan_tag(l2.ether_type)
             ? kNoInterface
             : snapshot_->ports[twin.port].tagged.find(l2.tags);
}

// The chunk of this one packet. Tags that Linux has put on are of an interface of the port's.
void SlowPath::enter_lane(const Twin& twin, rte_mbuf* packet, const FramedIp& frame) noexcept {
  Chunk& chunk = *chunk_;
  chunk.v4.count = chunk.v6.count = chunk.refused_count = 0;
  InterfaceId interface = twin.interface;
  if (const InterfaceId tagged = by_tags(twin, packet); tagged != kNoInterface) interface = tagged;
  const auto put = [&](auto& lane) {
    lane.packets[0] = packet;
    lane.ingress[0] = {interface, frame.l2_bytes};
    lane.count = 1;
  };
  if (frame.family == Family::kIpv4)
    put(chunk.v4);
  else
    put(chunk.v6);
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
  confine_worker();                                    // DPDK looks for this CPU in /sys above
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
    turns_.add(1);
    if (work > 0) busy_turns_.add(1);
    idle_turns = work > 0 ? 0 : idle_turns + 1;
    if (work == 0) wait_for_work(idle_turns);
  }
  while (deliver_punts() > 0) {
  }
  rte_rcu_qsbr_thread_offline(options_.qsbr, options_.qsbr_thread);
  rte_rcu_qsbr_thread_unregister(options_.qsbr, options_.qsbr_thread);
  if (registered) rte_thread_unregister();
}

}  // namespace hecto::router
