#include "bench/ipsec/control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/ether.hpp"
#include "bench/bed/expected.hpp"
#include "bench/bed/port_tap.hpp"
#include "bench/bed/slices.hpp"
#include "bench/ipsec/ipsec.hpp"
#include "bench/ipsec/open_esp.hpp"
#include "bench/ipsec/tunnels.hpp"
#include "bench/lib/stopwatch.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/sampler.hpp"

namespace hecto::bench {
namespace {

using namespace router;

constexpr unsigned kMore = 2000;     // installed beside those that are there
constexpr unsigned kMoreAlone = 50;  // each committed alone: a commit rebuilds an SPD
constexpr unsigned kBatch = 64;      // changes of one turn
constexpr unsigned kRekeys = 500;
constexpr unsigned kBurstsBetween = 2;
constexpr uint16_t kInner_bytes = 200;
constexpr uint32_t kSpi = 0x1000000;  // above those of the tunnels that are measured

const esp::Transform& transform() {
  static const esp::Transform kTransform = *ipsec_transform("aes-128-gcm");
  return kTransform;
}

Tunnel tunnel(unsigned n, const IpAddress& far_end, Spi spi, uint32_t window = 64) {
  return {n, spi, far_end, transform(), window};
}

// Removes again what it has added.
class Installer {
 public:
  explicit Installer(Bed& bed) : bed_(bed) {}
  ~Installer() {
    for (const Tunnel& tunnel : added_) {
      (void)ipsec().remove_policy(tunnel.policy(PolicyDirection::kOut));
      (void)ipsec().remove_sa(tunnel.outbound().id, RouteOrigin::kApi);
    }
    apply(bed_);
  }

  // Per second of this thread's own time; `commit_every`: so many.
  Result<double> add(std::span<const Tunnel> tunnels, bool with_policy, size_t commit_every) {
    const Stopwatch watch;
    for (size_t i = 0; i < tunnels.size(); ++i) {
      if (auto added = ipsec().add_sa(tunnels[i].outbound()); !added)
        return tl::unexpected(added.error());
      if (with_policy)
        if (auto added = ipsec().add_policy(tunnels[i].policy(PolicyDirection::kOut)); !added)
          return tl::unexpected(added.error());
      if ((i + 1) % commit_every == 0 || i + 1 == tunnels.size()) bed_.router().publish_ipsec();
    }
    const double rate = static_cast<double>(tunnels.size()) / watch.cpu_seconds();
    added_.insert(added_.end(), tunnels.begin(), tunnels.end());
    return rate;
  }

 private:
  Ipsec& ipsec() { return bed_.router().ipsec(); }
  Bed& bed_;
  std::vector<Tunnel> added_;
};

Result<void> measure_rates(Bed& bed, std::span<const IpAddress> ends, IpsecControl& control) {
  Installer installer(bed);
  unsigned n = 0;
  const auto next = [&](unsigned count) {
    std::vector<Tunnel> tunnels;
    for (unsigned i = 0; i < count; ++i, ++n)
      tunnels.push_back(tunnel(n, ends[n % ends.size()], Spi(kSpi + 2 * n)));
    return tunnels;
  };
  const auto take = [&](double& rate, unsigned count, bool with_policy, size_t commit_every) {
    const auto tunnels = next(count);
    auto measured = installer.add(tunnels, with_policy, commit_every);
    if (measured) rate = *measured;
    return measured;
  };
  const auto all = static_cast<unsigned>(ends.size());
  for (const auto& measured :
       {take(control.bulk_pairs_per_s, all, true, all), take(control.sas_per_s, kMore, false, 1),
        take(control.pairs_per_s, kMore, true, kBatch),
        take(control.pairs_alone_per_s, kMoreAlone, true, 1)})
    if (!measured) return tl::unexpected(measured.error());
  return {};
}

// What a router makes of the bed's 64-byte frames: to a host behind the tunnel, a hop less.
bool is_replayed(std::span<const uint8_t> ip) {
  constexpr uint8_t kTtl = 63, kUdp = 17, kNetwork = 10;
  return ip.size() == kLeastFrame_bytes - kEthernetBytes && ip[8] == kTtl && ip[9] == kUdp &&
         ip[16] == kNetwork && checksum_by_definition(ip.first(kIpv4Bytes)) == 0 &&
         std::all_of(ip.begin() + kIpv4Bytes, ip.end(), [](uint8_t byte) { return byte == 0; });
}

// Both ends of one tunnel: opens what the router sends out, with the window of a far end and once
// more by OpenSSL, and looks at what it has opened. Counts what is whole.
class Opener {
 public:
  static Result<std::unique_ptr<Opener>> create(Bed& bed) {
    auto engine = esp::Engine::create();
    if (!engine) return tl::unexpected(engine.error());
    std::unique_ptr<Opener> opener(new Opener(bed));
    opener->engine_ = std::move(*engine);
    return opener;
  }

  Result<void> know(const SaState& outbound) {
    auto sa = esp::Sa::create(outbound);
    if (!sa) return tl::unexpected(sa.error());
    sas_[outbound.id.spi] = {outbound, std::move(*sa)};
    return {};
  }
  uint64_t opened() const { return opened_; }        // of what went out
  uint64_t delivered() const { return delivered_; }  // of what came in
  uint64_t leaked() const { return leaked_; }        // went out in clear

 private:
  struct FarSa {
    SaState state;
    std::unique_ptr<esp::Sa> sa;
  };
  explicit Opener(Bed& bed)
      : tap_(
            bed, [](rte_mbuf*) {}, [this](unsigned, rte_mbuf* packet) { take(packet); }) {
    const auto inner = inner_packet(0, kInner_bytes);
    delivered_frame_.resize(kEthernetBytes);
    std::memcpy(&delivered_frame_[12], &kEtherIpv4, sizeof kEtherIpv4);
    delivered_frame_.insert(delivered_frame_.end(), inner.begin(), inner.end());
    delivered_frame_ = forwarded(delivered_frame_, bed.router().config().neighbors.front().mac,
                                 egress_macs(bed)[0]);
  }
  void take(rte_mbuf* mbuf) {
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
    uint32_t spi = 0;
    std::memcpy(&spi, &ip[kIpv4Bytes], sizeof spi);
    const auto far = sas_.find(__builtin_bswap32(spi));
    if (far == sas_.end()) return;
    const auto inner = open_esp(far->second.state, ip);
    if (!inner || !is_replayed(*inner)) return;
    esp::Packet packet{ip.data(),    static_cast<uint32_t>(ip.size()), 0, 0, far->second.sa.get(),
                       Reason::kNone};
    engine_->inbound({&packet, 1}, 1);
    opened_ += packet.reason == Reason::kNone ? 1 : 0;
  }

  std::unique_ptr<esp::Engine> engine_;
  std::map<uint32_t, FarSa> sas_;
  std::vector<uint8_t> delivered_frame_;
  uint64_t opened_ = 0, delivered_ = 0, leaked_ = 0;
  PortTap tap_;
};

// A tunnel whose SAs are replaced as an IKE daemon does it: the new pair there first, then the far
// end uses it, then the old pair goes. Bursts out and in between all steps.
class Rekeyed {
 public:
  Rekeyed(Bed& bed, const IpAddress& far_end, FarEnd& sender, Opener& opener)
      : bed_(bed), far_end_(far_end), sender_(sender), opener_(opener) {}

  Result<void> run(unsigned rekeys) {
    Ipsec& ipsec = bed_.router().ipsec();
    Tunnel current = tunnel(0, far_end_, kSpi);
    for (const auto direction : {PolicyDirection::kOut, PolicyDirection::kForward})
      if (auto added = ipsec.add_policy(current.policy(direction)); !added)
        return tl::unexpected(added.error());
    if (auto done = add(current); !done) return done;
    std::swap(sending_, next_);
    for (unsigned i = 1; i <= rekeys; ++i) {
      flow();
      const Tunnel fresh = tunnel(0, far_end_, Spi(kSpi + 2 * i));
      if (auto done = add(fresh); !done) return done;
      flow();
      sending_ = std::move(next_);
      flow();
      remove(current);
      current = fresh;
    }
    flow();
    remove(current);
    for (const auto direction : {PolicyDirection::kOut, PolicyDirection::kForward})
      (void)ipsec.remove_policy(current.policy(direction));
    apply(bed_);
    return {};
  }
  uint64_t sent() const { return sent_; }

 private:
  Result<void> add(const Tunnel& tunnel) {
    if (auto known = opener_.know(tunnel.outbound()); !known) return known;
    auto twin = esp::Sa::create(tunnel.inbound());
    if (!twin) return tl::unexpected(twin.error());
    next_ = std::move(*twin);
    for (const SaState& state : {tunnel.inbound(), tunnel.outbound()})
      if (auto added = bed_.router().ipsec().add_sa(state); !added)
        return tl::unexpected(added.error());
    apply(bed_);
    return {};
  }
  void remove(const Tunnel& tunnel) {
    for (const SaState& state : {tunnel.inbound(), tunnel.outbound()})
      (void)bed_.router().ipsec().remove_sa(state.id, RouteOrigin::kApi);
    apply(bed_);
  }
  void flow() {
    Worker& worker = bed_.router().dataplane().worker(0);
    for (unsigned i = 0; i < kBurstsBetween; ++i) {
      sent_ += worker.poll_once();
      WholeFrames frames;
      for (unsigned n = 0; n < bed_.router().config().burst; ++n)
        sender_.send(*sending_, 0, kInner_bytes, frames);
      bed_.replay(0).select_whole(&frames);
      sent_ += worker.poll_once();
      bed_.replay(0).select_whole(nullptr);
    }
  }

  Bed& bed_;
  IpAddress far_end_;
  FarEnd& sender_;
  Opener& opener_;
  std::unique_ptr<esp::Sa> sending_, next_;
  uint64_t sent_ = 0;
};

Result<void> measure_rekeys(Bed& bed, const IpAddress& end, IpsecControl& control) {
  bed.set_destinations(replay_destinations(hosts_behind(1, bed.destinations().ipv4.size()),
                                           bed.destinations().ipv6));
  bed.replay(0).select(Traffic::kIpv4);
  auto sender = FarEnd::create();
  if (!sender) return tl::unexpected(sender.error());
  auto opener = Opener::create(bed);
  if (!opener) return tl::unexpected(opener.error());
  Rekeyed rekeyed(bed, end, **sender, **opener);
  if (auto done = rekeyed.run(kRekeys); !done) return done;
  control.rekeys = kRekeys;
  control.sent = rekeyed.sent();
  control.lost = rekeyed.sent() - (*opener)->opened() - (*opener)->delivered();
  control.leaked = (*opener)->leaked();
  return {};
}

}  // namespace

Result<IpsecControl> measure_control(Bed& bed, std::span<const IpAddress> ends) {
  IpsecControl control;
  if (auto done = measure_rates(bed, ends, control); !done) return tl::unexpected(done.error());
  if (auto done = measure_rekeys(bed, ends[0], control); !done) return tl::unexpected(done.error());
  return control;
}

}  // namespace hecto::bench
