#include "bench/ipsec/control.hpp"

#include "bench/ipsec/cases.hpp"
#include "bench/ipsec/rekeys.hpp"
#include "bench/ipsec/tunnels.hpp"
#include "bench/lib/stopwatch.hpp"

namespace hecto::bench {
namespace {

using namespace router;

constexpr unsigned kMore = 2000;      // installed beside those that are there
constexpr unsigned kMoreAlone = 50;   // each committed alone: a commit rebuilds an SPD
constexpr unsigned kBatch = 64;       // changes of one turn
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

}  // namespace

Result<IpsecControl> measure_control(Bed& bed, std::span<const IpAddress> ends) {
  IpsecControl control;
  if (auto done = measure_rates(bed, ends, control); !done) return tl::unexpected(done.error());
  if (auto done = measure_rekeys(bed, ends[0], control); !done) return tl::unexpected(done.error());
  return control;
}

}  // namespace hecto::bench
