#include "bench/ipsec/rekeys.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/ether.hpp"
#include "bench/bed/expected.hpp"
#include "bench/bed/port_tap.hpp"
#include "bench/bed/worker_rate.hpp"
#include "bench/ipsec/cases.hpp"
#include "bench/ipsec/open_esp.hpp"
#include "bench/ipsec/tunnels.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

using namespace router;

constexpr unsigned kRekeys = 500;
constexpr unsigned kBurstsBetween = 4;
constexpr uint16_t kInner_bytes = 200;
constexpr uint32_t kRekeyedSpi = 0x1000000;  // above those of the tunnels that are measured
constexpr uint32_t kWindow = 64;

// What a router makes of the bed's 64-byte frames: to a host behind the tunnel, a hop less.
bool is_replayed(std::span<const uint8_t> ip) {
  constexpr uint8_t kTtl = 63, kUdp = 17, kNetwork = 10;
  return ip.size() == kLeastFrame_bytes - kEthernetBytes && ip[8] == kTtl && ip[9] == kUdp &&
         ip[16] == kNetwork && checksum_by_definition(ip.first(kIpv4Bytes)) == 0 &&
         std::all_of(ip.begin() + kIpv4Bytes, ip.end(), [](uint8_t byte) { return byte == 0; });
}

// The far end of one tunnel, on the ports themselves: of what comes in every other packet becomes
// one of its own, and what goes out is opened with a far end's window and once more by OpenSSL.
// Counts what is whole. The worker's thread, and control's between.
class FarSide {
 public:
  static Result<std::unique_ptr<FarSide>> create(Bed& bed) {
    auto engine = esp::Engine::create();
    auto sender = FarEnd::create();
    if (!engine || !sender) return tl::unexpected(!engine ? engine.error() : sender.error());
    std::unique_ptr<FarSide> side(new FarSide(bed));
    side->engine_ = std::move(*engine);
    side->sender_ = std::move(*sender);
    return side;
  }

  // Both SAs of the tunnel as they are here: what comes is opened from now on.
  Result<void> know(const Tunnel& tunnel) {
    auto opens = esp::Sa::create(tunnel.outbound()), seals = esp::Sa::create(tunnel.inbound());
    if (!opens || !seals) return tl::unexpected(!opens ? opens.error() : seals.error());
    const std::lock_guard lock(mutex_);
    sas_[tunnel.spi] = {tunnel.outbound(), std::move(*opens), std::move(*seals)};
    return {};
  }
  void send_by(const Tunnel& tunnel) {
    const std::lock_guard lock(mutex_);
    sending_ = sas_.at(tunnel.spi).seals.get();
  }
  uint64_t sent() const { return sent_.load(std::memory_order_relaxed); }  // into the router
  uint64_t opened() const { return opened_; }                              // of what went out
  uint64_t delivered() const { return delivered_; }                        // of what came in
  uint64_t leaked() const { return leaked_; }                              // went out in clear

 private:
  struct FarSa {
    SaState state;
    std::unique_ptr<esp::Sa> opens, seals;
  };
  explicit FarSide(Bed& bed)
      : inner_(inner_packet(0, kInner_bytes)),
        tap_(
            bed, [this](rte_mbuf* packet) { enter(packet); },
            [this](unsigned, rte_mbuf* packet) { leave(packet); }) {
    delivered_frame_.resize(kEthernetBytes);
    std::memcpy(&delivered_frame_[12], &kEtherIpv4, sizeof kEtherIpv4);
    delivered_frame_.insert(delivered_frame_.end(), inner_.begin(), inner_.end());
    delivered_frame_ = forwarded(delivered_frame_, bed.router().config().neighbors.front().mac,
                                 egress_macs(bed)[0]);
  }
  void enter(rte_mbuf* packet) {
    const std::lock_guard lock(mutex_);
    if (sent_.fetch_add(1, std::memory_order_relaxed) % 2 == 0) return;
    WholeFrames frame;
    sender_->send(*sending_, inner_, frame);
    constexpr size_t kMacs = 2 * sizeof(MacAddress);  // stay
    std::memcpy(rte_pktmbuf_mtod(packet, uint8_t*) + kMacs, &frame.bytes[kMacs],
                frame.bytes.size() - kMacs);
    packet->data_len = static_cast<uint16_t>(frame.bytes.size());
    packet->pkt_len = packet->data_len;
  }
  void leave(rte_mbuf* mbuf) {
    constexpr unsigned kProtocol = 9, kEsp = 50;
    const std::span<uint8_t> frame(rte_pktmbuf_mtod(mbuf, uint8_t*), mbuf->data_len);
    const auto ip = frame.subspan(kEthernetBytes);
    if (ip[kProtocol] == kEsp)
      open(ip);
    else if (std::equal(frame.begin(), frame.end(), delivered_frame_.begin(),
                        delivered_frame_.end()))
      ++delivered_;
    else if (is_replayed(ip))
      ++leaked_;
  }
  void open(std::span<uint8_t> ip) {
    const std::lock_guard lock(mutex_);
    uint32_t spi = 0;
    std::memcpy(&spi, &ip[kIpv4Bytes], sizeof spi);
    const auto far = sas_.find(__builtin_bswap32(spi));
    if (far == sas_.end()) return;
    const auto inner = open_esp(far->second.state, ip);
    if (!inner || !is_replayed(*inner)) return;
    esp::Packet packet{ip.data(), static_cast<uint32_t>(ip.size()), 0,
                       0,         far->second.opens.get(),          Reason::kNone};
    engine_->inbound({&packet, 1}, 1);
    opened_ += packet.reason == Reason::kNone ? 1 : 0;
  }

  std::mutex mutex_;
  std::unique_ptr<esp::Engine> engine_;
  std::unique_ptr<FarEnd> sender_;
  std::map<uint32_t, FarSa> sas_;
  esp::Sa* sending_ = nullptr;
  const std::vector<uint8_t> inner_;
  std::vector<uint8_t> delivered_frame_;
  std::atomic<uint64_t> sent_{0};
  uint64_t opened_ = 0, delivered_ = 0, leaked_ = 0;
  PortTap tap_;
};

// This thread away from the first worker's core, as long as it lives.
class Aside {
 public:
  explicit Aside(unsigned cpu) {
    pthread_getaffinity_np(pthread_self(), sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
  }
  ~Aside() { pthread_setaffinity_np(pthread_self(), sizeof before_, &before_); }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  cpu_set_t before_;
};

// A tunnel whose SAs are replaced as an IKE daemon does it: the new pair there first, then the far
// end uses it, then the old pair goes. Bursts out and in between all steps.
class Rekeyed {
 public:
  Rekeyed(Bed& bed, const IpAddress& far_end, FarSide& far)
      : bed_(bed), far_end_(far_end), far_(far) {}

  // The tunnel; with cores of their own the workers begin behind it.
  Result<void> begin() {
    for (const auto direction : {PolicyDirection::kOut, PolicyDirection::kForward})
      if (auto added = bed_.router().ipsec().add_policy(current_.policy(direction)); !added)
        return tl::unexpected(added.error());
    if (auto done = add(current_); !done) return done;
    far_.send_by(current_);
    if (bed_.workers() < 2) return {};
    auto running = RunningWorkers::start(bed_);
    if (!running) return tl::unexpected(running.error());
    running_ = std::move(*running);
    bed_.replay(0).set_active(true);
    return {};
  }
  Result<void> rekey(unsigned number) {
    const Tunnel fresh = tunnel(number);
    if (auto done = add(fresh); !done) return done;
    if (auto done = flow(); !done) return done;
    far_.send_by(fresh);
    if (auto done = flow(); !done) return done;
    remove(current_);
    current_ = fresh;
    return flow();
  }
  // When nothing is under way any more.
  void end() {
    if (running_) bed_.replay(0).set_active(false);
    running_.reset();
    remove(current_);
    for (const auto direction : {PolicyDirection::kOut, PolicyDirection::kForward})
      (void)bed_.router().ipsec().remove_policy(current_.policy(direction));
    apply(bed_);
    bed_.replay(0).set_active(true);
  }
  bool beside() const { return running_ != nullptr; }

 private:
  Tunnel tunnel(unsigned number) const {
    return {0, Spi(kRekeyedSpi + 2 * number), far_end_, *ipsec_transform("aes-128-gcm"), kWindow};
  }
  void commit() { running_ ? bed_.router().publish_ipsec() : apply(bed_); }
  Result<void> add(const Tunnel& tunnel) {
    if (auto known = far_.know(tunnel); !known) return known;
    for (const SaState& state : {tunnel.inbound(), tunnel.outbound()})
      if (auto added = bed_.router().ipsec().add_sa(state); !added)
        return tl::unexpected(added.error());
    commit();
    return {};
  }
  void remove(const Tunnel& tunnel) {
    for (const SaState& state : {tunnel.inbound(), tunnel.outbound()})
      (void)bed_.router().ipsec().remove_sa(state.id, RouteOrigin::kApi);
    commit();
  }
  // Bursts that came in behind what was done last, so that those before it have left.
  Result<void> flow() {
    if (!running_) {
      for (unsigned i = 0; i < kBurstsBetween; ++i) bed_.router().dataplane().worker(0).poll_once();
      return {};
    }
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::seconds(5);
    const uint64_t enough = far_.sent() + kBurstsBetween * bed_.router().config().burst;
    while (far_.sent() < enough) {
      if (Clock::now() > until) return fail("rekeys: the worker stands still");
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return {};
  }

  Bed& bed_;
  IpAddress far_end_;
  FarSide& far_;
  Tunnel current_ = tunnel(0);
  std::unique_ptr<RunningWorkers> running_;
};

}  // namespace

Result<void> measure_rekeys(Bed& bed, const IpAddress& far_end, IpsecControl& control) {
  bed.set_destinations(replay_destinations(hosts_behind(1, bed.destinations().ipv4.size()),
                                           bed.destinations().ipv6));
  bed.replay(0).select(Traffic::kIpv4);
  const auto last = static_cast<unsigned>(bed.workers() - 1);
  std::optional<Aside> aside;
  if (last > 0) aside.emplace(bed.router().dataplane().worker(last).options().cpu);
  auto far = FarSide::create(bed);
  if (!far) return tl::unexpected(far.error());
  Rekeyed rekeyed(bed, far_end, **far);
  Result<void> done = rekeyed.begin();
  for (unsigned i = 1; done && i <= kRekeys; ++i) done = rekeyed.rekey(i);
  control.own_core = rekeyed.beside();
  rekeyed.end();
  if (!done) return done;
  control.rekeys = kRekeys;
  control.sent = (*far)->sent();
  control.lost = (*far)->sent() - (*far)->opened() - (*far)->delivered();
  control.leaked = (*far)->leaked();
  return {};
}

}  // namespace hecto::bench
